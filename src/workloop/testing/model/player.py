"""Which move a conversation gets, with its tool name and arguments ready for the CLI that asked."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never, cast

from workloop.testing.model.conversation import Conversation, ScenarioError
from workloop.testing.model.moves import Call, Casting, Cut, Fail, Flaky, Hang, Move, Say, Scenario, step_at

AUTH_STATUSES = frozenset({401, 403})
PLACEHOLDER = re.compile(r"<<(brief|result|workdir)(?::(.*?))?>>", re.DOTALL)

ReadyMove = Call | Say | Fail | Cut | Hang
Address = Callable[[Call, Conversation], Call | Say]


class Player:
    """Plays the scenarios; remembers nothing but how often a flaky step was tried."""

    def __init__(self, scenario: Scenario | Casting) -> None:
        self.scenario = scenario
        self.tries: Counter[tuple[str, int]] = Counter()
        self.lock = threading.Lock()

    def next_move(self, conversation: Conversation, address: Address) -> ReadyMove:
        """Return the move for this request; a tool that is not offered becomes a text that says so."""
        if not conversation.tools:
            return self.side_answer(conversation)
        scenario = self.scenario(conversation) if callable(self.scenario) else self.scenario
        step = step_at(scenario, conversation.step)
        move = self.settled(step(conversation) if callable(step) else step, conversation)
        if not isinstance(move, Call):
            return move
        arguments = cast("Mapping[str, object]", filled(move.arguments, conversation))
        call = replace(move, arguments=arguments)
        return call if move.unoffered else address(call, conversation)

    def settled(self, move: Move, conversation: Conversation) -> ReadyMove:
        """Decide whether a flaky step still fails."""
        match move:
            case Flaky():
                key = (conversation.session or conversation.prompt, conversation.step)
                with self.lock:
                    self.tries[key] += 1
                    return move.first if self.tries[key] <= move.tries else move.then
            case Call() | Say() | Fail() | Cut() | Hang():
                return move
            case _:
                assert_never(move)

    def side_answer(self, conversation: Conversation) -> ReadyMove:
        """Answer a request without tools (a title, a summary): it fails only where the key itself is bad."""
        if not callable(self.scenario):
            for step in self.scenario:
                if isinstance(step, Fail) and step.status in AUTH_STATUSES:
                    return step
        return Say('{"title": "Scripted title"}' if conversation.wants_json else "Scripted title")


def filled(value: object, conversation: Conversation) -> object:
    """Replace the placeholders in every text of a value."""
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda found: looked_at(conversation, found[1], found[2]), value)
    if isinstance(value, Mapping):
        given = cast("Mapping[str, object]", value)
        return {name: filled(entry, conversation) for name, entry in given.items()}
    if isinstance(value, list | tuple):
        return [filled(entry, conversation) for entry in cast("list[object]", value)]
    return value


def looked_at(conversation: Conversation, kind: str, argument: str | None) -> str:
    """Return what one placeholder stands for."""
    match kind, argument:
        case "brief", str(name):
            return conversation.brief(name)
        case "result", None:
            return conversation.last_result.strip()
        case "result", str(pattern):
            return conversation.found(pattern)
        case "workdir", None:
            return conversation.workdir
        case _:
            raise ScenarioError(f"no such placeholder: {kind}:{argument}")
