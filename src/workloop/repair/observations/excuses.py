"""Which ends of a call say nothing against the tool: refusals, waits, the model's mistakes, other people's trouble."""

import re
from collections.abc import Mapping

from workloop.domain.observed import is_problem, unwrapped
from workloop.domain.session import ToolKind, ToolResultClass
from workloop.repair.observations.finding import ObservationKind
from workloop.repair.observations.pairs import Pair
from workloop.repair.observations.thresholds import Thresholds

ANSWER_CHARACTERS_MAX = 20_000
# Only these classes can be held against a harness; every other one, also one that is not known, is somebody else's.
CHARGEABLE: Mapping[ToolResultClass, ObservationKind] = {
    ToolResultClass.TOOL_FAULT: ObservationKind.TOOL_ERROR,
    ToolResultClass.TIMEOUT: ObservationKind.TOOL_ERROR,
    ToolResultClass.MISSING_TOOL: ObservationKind.MISSING_TOOL,
}
# What a tool's own answer says when a control has refused, the model has asked wrongly, or a provider was the trouble.
REFUSALS = re.compile(
    r"permission[ _-]?denied|access[ _-]?(?:is )?denied|not[ _-]permitted|not allowed|forbidden|unauthori[sz]ed"
    r"|denied by|refused by|rejected by|blocked by|\bdenied\b|by policy|security policy|policy (?:forbids|violation)"
    r"|requires? (?:approval|permission)|\beacces\b|\beperm\b"
    r"|outside (?:of )?(?:the|your) (?:workspace|sandbox|allowed)"
    r"|(?:http|status|code|error)[ :=/]*40[13]\b",
    re.IGNORECASE,
)
ARGUMENTS = re.compile(
    r"validation error|invalid (?:argument|param|input|value|json)|missing (?:required|argument|param|field)"
    r"|required (?:property|argument|param|field)|unexpected argument|unknown (?:argument|param|field)"
    r"|does not match the schema|-32602|no match found|string to replace",
    re.IGNORECASE,
)
PROVIDERS = re.compile(
    r"rate[ _-]?limit|overloaded|quota|too many requests|usage limit|credit balance|workloop meter refused"
    r"|(?:http|status|code|error)[ :=/]*(?:429|50[234]|529)\b",
    re.IGNORECASE,
)
EXCUSES = (REFUSALS, ARGUMENTS, PROVIDERS)


def charged(pair: Pair, thresholds: Thresholds) -> ObservationKind | None:
    """Return what a call's end can be held against its tool as; None where it cannot."""
    kind = CHARGEABLE.get(pair.end.result)
    if kind is None or not pair.server_up or is_excused(pair.end.answer):
        return None
    if kind is ObservationKind.MISSING_TOOL:
        return None if thresholds.is_own(pair.call.name) else kind
    return None if pair.end.result is ToolResultClass.TIMEOUT and is_elsewhere(pair, thresholds) else kind


def is_slow(pair: Pair, thresholds: Thresholds) -> bool:
    """Say whether a call that came to its end took too long by itself, and not for a command, a model or a person."""
    if pair.end.result is not ToolResultClass.OK and charged(pair, thresholds) is not ObservationKind.TOOL_ERROR:
        return False
    if is_elsewhere(pair, thresholds) and pair.call.name not in thresholds.slow_ms_of:
        return False
    return pair.took_us // 1_000 >= thresholds.slow_ms_for(pair.call.name)


def is_elsewhere(pair: Pair, thresholds: Thresholds) -> bool:
    """Say whether a call's time is that of a command, of the network, of a model or of a person."""
    return pair.call.kind in (ToolKind.SHELL, ToolKind.WEB) or thresholds.waits(pair.call.name)


def is_excused(answer: str) -> bool:
    """Say whether what a tool answered is a refusal, a complaint about the arguments, or a provider's trouble."""
    said = answer[:ANSWER_CHARACTERS_MAX]
    told = unwrapped(said)
    return (told is not None and is_problem(told)) or any(excuse.search(said) for excuse in EXCUSES)
