"""What a model is told about the `work_loop` tool, in as few tokens as each profile allows."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from workloop.domain.contract import OutcomeKind
from workloop.domain.evidence import EvidenceKind
from workloop.domain.grants import ALLOWED, LANES, Grant
from workloop.service.actions import ACTIONS, Action
from workloop.service.arguments import ARGUMENTS, Argument, Shape

TOOL_NAME = "work_loop"
Schema = dict[str, Any]


class Profile(StrEnum):
    """How much of the tool a caller sees; one per grant."""

    WORKER = "worker"
    COORDINATOR = "coordinator"
    OPERATOR = "operator"
    READER = "reader"


GRANT_OF: Final[dict[Profile, Grant]] = {
    Profile.WORKER: Grant.SESSION,
    Profile.COORDINATOR: Grant.COORDINATOR,
    Profile.OPERATOR: Grant.OPERATOR,
    Profile.READER: Grant.READER,
}
PROFILE_OF: Final[dict[Grant, Profile]] = {grant: profile for profile, grant in GRANT_OF.items()}

KNOWN_TO_WORKER = frozenset(
    {"token", "key", "request_id", "lease_seconds", "infra", "untouched", "not_before", "delay_seconds"}
)
"""What the endpoint knows or the host decides for a worker, so that its model need not be told."""

OPENING: Final[dict[Profile, str]] = {
    Profile.WORKER: (
        "Work on the item this session holds; its claim is bound, pass no token. Start with show: contract and "
        "contract_hash. Commit first, then settle exactly once: complete, retry, defer or release."
    ),
    Profile.COORDINATOR: (
        "Hand out a campaign's items. Claim, keep the token, heartbeat every beat_seconds, settle exactly once: "
        "complete, retry, defer or release. item: null is normal: look at reasons and next_wake. A cut call may be "
        "repeated with the same request_id."
    ),
    Profile.OPERATOR: "Run a campaign of work items: add, look, hand out, settle, decide.",
    Profile.READER: "Look at a campaign of work items.",
}
ERRORS = (
    "Errors carry code and suggested_fix; retryable: true means call again unchanged. "
    "stop_writing: true means the claim is lost: stop all edits and end."
)
ACTION_WORDS: Final[dict[str, str]] = {
    "show": "your item, its contract and evidence",
    "complete": "commit: outcome {kind: commit, ref: full SHA}; verifier: verdict and evidence of what you "
    "examined; rejected also failed_checks, reproduction",
    "retry": "give back for another attempt",
    "add_items": "propose follow-up work",
}
"""Words for a worker that say more, or less, than the table's help."""
WORKER_REQUIRED = frozenset({"failed", "cause", "next_action"})


def tool(profile: Profile, needs: frozenset[str] = frozenset()) -> Schema:
    """Describe the tool; a worker sees lanes and versions only when its contract needs them."""
    actions = list(actions_of(profile, needs))
    properties: Schema = {"action": {"type": "string", "enum": [action.name for action in actions]}}
    for name in fields_of(actions, profile, needs):
        properties[name] = property_of(ARGUMENTS[name], profile)
    return {
        "name": TOOL_NAME,
        "description": describe(profile, needs, actions),
        "inputSchema": {"type": "object", "properties": properties, "required": ["action"]},
    }


def actions_of(profile: Profile, needs: frozenset[str]) -> Iterator[Action]:
    """Yield the actions that a profile's grant allows."""
    for action in ACTIONS.values():
        hidden = profile is Profile.WORKER and action.name in LANES and "lane" not in needs
        if action.name in ALLOWED[GRANT_OF[profile]] and not hidden:
            yield action


def takes(action: Action, profile: Profile, needs: frozenset[str]) -> list[str]:
    """Return the arguments of an action that a profile is told about."""
    if profile is not Profile.WORKER:
        return list(action.takes)
    hidden = KNOWN_TO_WORKER if "versions" in needs else KNOWN_TO_WORKER | {"versions"}
    reasons = {"reason"} if action.name == "retry" else set[str]()
    return [name for name in action.takes if name not in hidden | reasons]


def fields_of(actions: Sequence[Action], profile: Profile, needs: frozenset[str]) -> list[str]:
    """Return the fields of the flat schema, each once."""
    names = [name for action in actions for name in takes(action, profile, needs)]
    if profile in (Profile.COORDINATOR, Profile.OPERATOR):
        names.append("request_id")
    return list(dict.fromkeys(names))


def describe(profile: Profile, needs: frozenset[str], actions: Sequence[Action]) -> str:
    """Write what the tool is for, what each action takes, and what errors mean."""
    lines = [OPENING[profile], ERRORS, "Actions (* required):"]
    for action in actions:
        required = {*action.required, *WORKER_REQUIRED} if profile is Profile.WORKER else set(action.required)
        named = [f"{name}*" if name in required else name for name in takes(action, profile, needs)]
        words = ACTION_WORDS.get(action.name, action.help) if profile is Profile.WORKER else action.help
        lines.append(f"{action.name}({', '.join(named)}): {words}")
    return "\n".join(lines)


def property_of(argument: Argument, profile: Profile) -> Schema:
    """Describe one field in the subset of JSON Schema that every model provider takes."""
    described: Schema = {**SHAPES[argument.shape]}
    if argument.name in NESTED:
        inner = {"type": "object", "properties": NESTED[argument.name]}
        described = {"type": "array", "items": inner} if argument.shape is Shape.OBJECTS else inner
        if profile is not Profile.WORKER:
            described["description"] = argument.help
    elif argument.choices:
        closed = {"type": "string", "enum": list(argument.choices)}
        described = {"type": "array", "items": closed} if argument.shape is Shape.TEXTS else closed
    elif profile is not Profile.WORKER or argument.name not in PLAIN:
        described["description"] = argument.help
    return described


PLAIN = frozenset({"summary", "reason", "contract_hash"})
"""Fields whose name and action say it all to a worker."""

TEXT: Final[Schema] = {"type": "string"}
TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
SHAPES: Final[dict[Shape, Schema]] = {
    Shape.TEXT: TEXT,
    Shape.WHOLE: {"type": "integer"},
    Shape.FLAG: {"type": "boolean"},
    Shape.TEXTS: TEXTS,
    Shape.OBJECT: {"type": "object"},
    Shape.OBJECTS: {"type": "array", "items": {"type": "object"}},
}
NESTED: Final[dict[str, Schema]] = {
    "outcome": {"kind": {"type": "string", "enum": [kind.value for kind in OutcomeKind]}, "ref": TEXT},
    "evidence": {
        "kind": {"type": "string", "enum": [kind.value for kind in EvidenceKind]},
        "ref": TEXT,
        "slot": TEXT,
        "digest": TEXT,
    },
    "items": {
        "key": TEXT,
        "title": TEXT,
        "objective": TEXT,
        "checks": TEXTS,
        "guards": TEXTS,
        "depends_on": TEXTS,
        "priority": {"type": "integer"},
    },
}
