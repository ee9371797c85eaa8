"""What commands reach that is too heavy, or too high in the house, for them to import themselves."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from workloop.client import Client
    from workloop.config import Settings
    from workloop.driver.endpoint import SessionEndpoint
    from workloop.driver.project import Tell
    from workloop.driver.report import LoopOptions, LoopReport
    from workloop.service.call import Queue


class Surfaces(NamedTuple):
    """The doors to the other surfaces and to the loop; each loads what lies behind it when it is opened."""

    serve_stdio: "Callable[[Callable[[], Client], str], None]"
    make_endpoint: "Callable[[Queue], SessionEndpoint]"
    run_loop: "Callable[[Settings, LoopOptions, Callable[[Queue], SessionEndpoint], Tell], LoopReport]"
    verify_by_host: "Callable[[Settings, str], Mapping[str, Any]]"
