"""What the walls around one session leave open: its work, its own folder, what its agent needs, and its way out."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from workloop.runner.dwelling import furnish
from workloop.runner.harness.files import said_folder
from workloop.runner.harness.port import Harness, LaunchRequest
from workloop.runner.sandbox.enclosure import BARE, Enclosure, Network, Rooms, SandboxKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """The walls that the sessions of a loop get, and what stands open or is hidden for all of them."""

    enclosure: Enclosure = BARE
    rooms: Rooms = field(default_factory=Rooms)

    @property
    def name(self) -> str:
        """Return what is recorded of them."""
        return self.enclosure.name

    @property
    def stand(self) -> bool:
        """Tell whether there are any."""
        return self.enclosure.kind is not SandboxKind.NONE


NO_WALLS = Walls()


def quartered(harness: Harness, request: LaunchRequest, walls: Walls, home: Path) -> LaunchRequest:
    """Put walls around a session; request.rooms says what its work needs, home is where its private home is kept.

    Raises Fault when the agent is not installed.
    """
    if not walls.stand:
        return replace(request, enclosure=BARE, rooms=Rooms())
    needs = harness.needs(request.environment)
    readable, writable = there(needs.readable, needs.home), there(needs.writable, needs.home)
    seen = furnish(home, needs, (*readable, *writable))
    own = Rooms(
        readable=(request.session_dir, *readable),
        writable=(said_folder(request), *writable),
        home=home,
        standing={place: folder for place, folder in seen.items() if folder != home},
        ports=doors(request, walls.enclosure.network),
    )
    return replace(request, enclosure=walls.enclosure, rooms=walls.rooms | request.rooms | own)


def doors(request: LaunchRequest, network: Network) -> dict[int, Path]:
    """Return the loop's own port, which a session without a network reaches by the endpoint's Unix socket."""
    endpoint = request.endpoint
    if network is not Network.LOOPBACK or endpoint is None or endpoint.socket is None:
        return {}
    port = urlsplit(endpoint.url_api).port
    return {} if port is None else {port: endpoint.socket}


def there(places: Iterable[Path], home: Path) -> tuple[Path, ...]:
    """Return those places that exist and do not open a whole home."""
    found = (place for place in dict.fromkeys(places) if place.exists())
    return tuple(place for place in found if not home.is_relative_to(place))
