"""What is said with an MCP server to learn which tools it has, line by line and without any process."""

import json
from enum import Enum, auto
from typing import Final

from workloop import __version__
from workloop.domain.reader import Json, JsonObject
from workloop.repair.bundled.files import refused
from workloop.repair.bundled.packages.announced import announced_in
from workloop.repair.bundled.reading import json_in

RULE: Final = "server-answers"
PROTOCOL: Final = "2025-06-18"
ID_CHARACTERS_MAX: Final = 200
UNKNOWN_METHOD: Final = -32601


class Step(Enum):
    """Which answer is waited for; the value is the id of its question."""

    INITIALIZE = auto()
    TOOLS = auto()
    DONE = auto()


class Conversation:
    """One talk with a server; `tools` is what it announces once it has said so."""

    def __init__(self, at: str) -> None:
        """Begin with nothing said; `at` names the server in a refusal."""
        self.at = at
        self.step = Step.INITIALIZE
        self.tools: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Tell whether the server has said which tools it has."""
        return self.step is Step.DONE

    def opening(self) -> bytes:
        """Return what is said first."""
        about = {"name": "workloop", "version": __version__}
        return self._question("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about})

    def take(self, line: bytes) -> bytes:
        """Take one line and return what is said next, if anything; raises BadRequest for what is no message."""
        if not line.strip() or self.done:
            return b""
        try:
            values = json_in(line.decode("utf-8"), self.at)
        except UnicodeDecodeError as error:
            raise refused(RULE, self.at, "the server writes what is not UTF-8") from error
        if "method" in values:
            return self._asked(values)
        if values.get("id") != self.step.value or isinstance(values.get("id"), bool):
            raise refused(RULE, self.at, "the server answers what it was not asked")
        if "result" not in values:
            raise refused(RULE, self.at, f"the server answers with an error: {told(values.get('error'))}")
        return self._answered(values["result"])

    def _answered(self, result: Json) -> bytes:
        if self.step is Step.TOOLS:
            self.tools = announced_in(result, self.at)
            self.step = Step.DONE
            return b""
        if not isinstance(result, dict) or not isinstance(result.get("protocolVersion"), str):
            raise refused(RULE, self.at, "the server does not say which version of the protocol it speaks")
        self.step = Step.TOOLS
        return message({"method": "notifications/initialized"}) + self._question("tools/list", {})

    def _asked(self, values: JsonObject) -> bytes:
        """Answer what the server asks: it is told of nothing but that its client is there."""
        if "id" not in values:
            return b""
        name = values["id"]
        if isinstance(name, bool) or not isinstance(name, int | str) or len(str(name)) > ID_CHARACTERS_MAX:
            raise refused(RULE, self.at, "the server asks something without a plain id")
        if values["method"] == "ping":
            return message({"id": name, "result": {}})
        return message({"id": name, "error": {"code": UNKNOWN_METHOD, "message": "that is not known here"}})

    def _question(self, method: str, parameters: JsonObject) -> bytes:
        return message({"id": self.step.value, "method": method, "params": parameters})


def message(values: JsonObject) -> bytes:
    """Write one message as a line."""
    return json.dumps({"jsonrpc": "2.0", **values}).encode() + b"\n"


def told(error: Json) -> str:
    """Return what an error says of itself."""
    said = error.get("message") if isinstance(error, dict) else None
    return ascii(said)[:200] if isinstance(said, str) else "it says nothing more"
