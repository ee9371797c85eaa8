"""How one call of the tool becomes one action, and its answer or refusal a text that a model can act on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workloop.domain.errors import BadRequest, Fault, WorkloopError
from workloop.domain.grants import Actor, require_allowed
from workloop.domain.reader import Json
from workloop.interfaces.mcp.schema import GRANT_OF, TOOL_NAME, Profile
from workloop.service.actions import ACTIONS
from workloop.service.arguments import ARGUMENTS, Shape

if TYPE_CHECKING:
    from workloop.client import Client

STRUCTURED = frozenset({Shape.OBJECT, Shape.OBJECTS, Shape.TEXTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What goes back to the model: the same facts as text and as an object."""

    text: str
    structured: dict[str, Any]
    is_error: bool = False


def call_tool(client: "Client", profile: Profile, arguments: Mapping[str, Any]) -> ToolResult:
    """Run the action that the arguments name; never raises."""
    try:
        action, given = read_call(profile, arguments)
        return result(client.call(action, given))
    except WorkloopError as refused:
        return refusal(refused)
    except Exception as broken:
        import logging

        logging.getLogger(__name__).exception("work_loop failed")
        return refusal(internal(broken))


def result(facts: dict[str, Any], *, is_error: bool = False) -> ToolResult:
    """Write facts as compact JSON."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    return ToolResult(text=text, structured=facts, is_error=is_error)


def refusal(error: WorkloopError) -> ToolResult:
    """Write an error as its problem document."""
    from workloop.client import problem

    return result(problem(error), is_error=True)


def internal(broken: Exception) -> Fault:
    """Describe a defect without its inner workings."""
    return Fault(
        "INTERNAL",
        f"workloop failed: {type(broken).__name__}",
        hint="the operator's log has the details; try once more",
    )


def read_call(profile: Profile, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Json]]:
    """Split a call into its action and what it takes; raises BadRequest or Forbidden."""
    action = arguments.get("action")
    if not isinstance(action, str) or not action:
        raise BadRequest("UNKNOWN_ACTION", "action is required", hint=f"actions: {', '.join(ACTIONS)}", field="action")
    if action in ACTIONS:
        require_allowed(Actor(principal=TOOL_NAME, grant=GRANT_OF[profile]), action)
    given = {name: loosened(name, value) for name, value in arguments.items() if name != "action" and value is not None}
    return action, given


def loosened(name: str, value: Json) -> Json:
    """Undo what some models do to a nested value: write it as a text of JSON."""
    argument = ARGUMENTS.get(name)
    if argument is None or argument.shape not in STRUCTURED or not isinstance(value, str):
        return value
    try:
        decoded: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return decoded if isinstance(decoded, dict | list) else value


def needs_of(client: "Client", profile: Profile) -> frozenset[str]:
    """Return which optional parts of the tool a worker's contract needs; none when it cannot be read."""
    if profile is not Profile.WORKER:
        return frozenset()
    try:
        contract: dict[str, Any] = client.call("show", {})["contract"]
    except WorkloopError as refused:
        import logging

        logging.getLogger(__name__).warning("the tool is listed without lanes: %s", refused)
        return frozenset()
    return frozenset(name for name in ("lane", "versions") if contract.get(name))


def narrowed(client: "Client", profile: Profile, token: str) -> "Client":
    """Return a client that may do no more than the profile shows; a loop's own token decides that by itself."""
    from workloop.client import LocalClient

    if not isinstance(client, LocalClient):
        return client
    return LocalClient(client.queue, Actor(principal=client.actor.principal, grant=GRANT_OF[profile], token=token))
