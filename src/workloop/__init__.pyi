from workloop.interfaces.python import Driver as Driver
from workloop.interfaces.python import DriverConfig as DriverConfig
from workloop.interfaces.python import HarnessConfig as HarnessConfig
from workloop.interfaces.python import HarnessKind as HarnessKind
from workloop.interfaces.python import LoopEndReason as LoopEndReason
from workloop.interfaces.python import LoopReport as LoopReport
from workloop.interfaces.python import NetworkWish as NetworkWish
from workloop.interfaces.python import ObservedClaim as ObservedClaim
from workloop.interfaces.python import Poll as Poll
from workloop.interfaces.python import Poller as Poller
from workloop.interfaces.python import Releaser as Releaser
from workloop.interfaces.python import SandboxConfig as SandboxConfig
from workloop.interfaces.python import SandboxWish as SandboxWish
from workloop.interfaces.python import Target as Target
from workloop.interfaces.python import open_queue as open_queue

__version__: str
PUBLISHED: tuple[str, ...]
