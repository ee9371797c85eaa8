"""How a scenario is written in a JSON file.

    {"moves": [MOVE, ...]}                              one part for everybody
    {"roles": {"role: work": [MOVE, ...], ...}}         a part for each line that a brief may hold

A MOVE is one of
    {"call": "Bash" or ["workloop", "work_loop"], "arguments": {...}, "say": "..."}
    {"say": "...", "stop": "end_turn"}
    {"fail": 429, "kind": "rate_limit_error", "message": "...", "headers": {...}, "tries": 2, "then": MOVE}
    {"cut": "I was about to"}
    {"hang": "nothing" or "text"}
Texts in arguments may hold `<<brief:NAME>>`, `<<result>>`, `<<result:REGEX>>` and `<<workdir>>`.
"""

import json
from collections.abc import Mapping
from typing import cast

from workloop.testing.model.conversation import JsonObject, ScenarioError, objects
from workloop.testing.model.moves import (
    Call,
    Casting,
    Cut,
    Fail,
    Flaky,
    Hang,
    Move,
    Say,
    Scenario,
    Stop,
    by_brief,
)

STOPS: Mapping[object, Stop] = {"end_turn": "end_turn", "max_tokens": "max_tokens", "refusal": "refusal"}


def scenario_from_json(text: str) -> Scenario | Casting:
    """Read a scenario; raises ScenarioError for a move it does not know."""
    written = mapping(json.loads(text))
    if "roles" in written:
        parts = mapping(written["roles"])
        return by_brief({marker: moves_of(part) for marker, part in parts.items()})
    return moves_of(written.get("moves"))


def moves_of(written: object) -> list[Move]:
    """Read a list of moves."""
    return [move_of(entry) for entry in objects(written)]


def move_of(written: JsonObject) -> Move:
    """Read one move."""
    if "call" in written:
        return Call(tool_of(written["call"]), mapping(written.get("arguments", {})), say=str(written.get("say", "")))
    if "fail" in written:
        return failure_of(written)
    if "cut" in written:
        return Cut(str(written["cut"]))
    if "hang" in written:
        return Hang("text" if written["hang"] == "text" else "nothing")
    if "say" in written and written.get("stop", "end_turn") in STOPS:
        return Say(str(written["say"]), stop=STOPS[written.get("stop", "end_turn")])
    raise ScenarioError(f"not a move: {json.dumps(written)}")


def tool_of(written: object) -> str | tuple[str, str]:
    """Read a tool: its name, or the server and the name."""
    match written:
        case str():
            return written
        case [str(server), str(tool)]:
            return server, tool
        case _:
            raise ScenarioError(f"not a tool: {json.dumps(written)}")


def failure_of(written: JsonObject) -> Fail | Flaky:
    """Read a failure, for ever or for the first tries only."""
    headers = {name: str(value) for name, value in mapping(written.get("headers", {})).items()}
    fail = Fail(
        status=int(str(written["fail"])),
        kind=str(written.get("kind", "api_error")),
        message=str(written.get("message", "scripted failure")),
        headers=headers,
    )
    if "tries" not in written:
        return fail
    then = move_of(mapping(written.get("then", {})))
    if not isinstance(then, Call | Say):
        raise ScenarioError("what follows a failure is a call or a text")
    return Flaky(first=fail, tries=int(str(written["tries"])), then=then)


def mapping(value: object) -> JsonObject:
    """Return a JSON object; raises ScenarioError for anything else."""
    if not isinstance(value, Mapping):
        raise ScenarioError(f"not an object: {json.dumps(value)}")
    return cast("JsonObject", value)
