"""How an agent's side of the conversation becomes events, while ours is kept going."""

from collections.abc import Callable, Mapping

from workloop.domain.clock import Instant, later
from workloop.domain.session import (
    DETAIL_CHARACTERS_MAX,
    TEXT_CHARACTERS_MAX,
    Conclusion,
    Denied,
    Finished,
    Limit,
    LimitKind,
    SessionClass,
    SessionError,
    SessionEvent,
    Started,
    Text,
    Usage,
    head,
    tail,
)
from workloop.runner.harness.acp import wire
from workloop.runner.harness.acp.calls import AgentCalls
from workloop.runner.harness.acp.dialogue import Dialogue, DialogueError, Opening, Step
from workloop.runner.harness.acp.naming import Naming
from workloop.runner.harness.acp.permission import choose
from workloop.runner.harness.acp.spending import Spending
from workloop.runner.harness.acp.verdict import Verdict
from workloop.runner.harness.fields import Fields, parse
from workloop.runner.harness.lines import LineReader
from workloop.runner.harness.mcpjson import SERVER_NAME
from workloop.runner.harness.port import Ending
from workloop.runner.signatures import Signatures

NAME_CHARACTERS_MAX = 200
PROTOCOL_PARTS = frozenset({"session", "fs", "terminal", "mcp", "elicitation"})  # what else is told is a vendor's own
USELESS = frozenset({SessionClass.CRASHED, SessionClass.CONFIG})


class AcpReader(LineReader):
    """One session: what the agent said so far, what it is told next, and what it adds up to."""

    def __init__(self, session_id: str, opening: Opening, signatures: Signatures, started_at: Instant | None) -> None:
        super().__init__(session_id)
        self.signatures = signatures
        self.started_at = started_at
        self.dialogue = Dialogue(opening)
        self.verdict = Verdict(signatures)
        self.spending = Spending()
        servers = (SERVER_NAME, *(server.name for server in opening.others))
        self.tools = AgentCalls(self.stamper, signatures, Naming(servers))
        self.saying = ""
        self.said = ""
        self.first_arrival_us: int | None = None

    def feed(self, line: bytes, arrival_us: int) -> list[SessionEvent]:
        """Decode one message; an empty line is nothing, an unknown one is kept as unrecognised."""
        if not line.strip():
            return []
        self.stamper.last_arrival_us = arrival_us
        self.first_arrival_us = arrival_us if self.first_arrival_us is None else self.first_arrival_us
        message = parse(line)
        events = self.read(message) if message else None
        return [self.stamper.unrecognised(line, self.stamper.again())] if events is None else events

    def replies(self) -> bytes:
        """Return what the agent is to be told now, once."""
        return self.dialogue.take()

    def finish(self, exit_code: int | None, signal: int | None, stderr_tail: str) -> Ending:
        """Judge the session by what the agent said of its end, else by how the process ended."""
        events = self.spoken()
        verdict = self.verdict
        session_class = verdict.judge(exit_code, signal, stderr_tail, refused=self.tools.calls.refused)
        detail = verdict.detail(exit_code, signal, stderr_tail)
        if session_class is SessionClass.LIMITED:
            kind = LimitKind.UNKNOWN
            events.append(Limit(at=self.stamper.again(), kind=kind, reset_at=verdict.reset_at, detail=detail))
        conclusion = Conclusion(
            session_class=session_class,
            final_text="" if verdict.failed else tail(self.said, TEXT_CHARACTERS_MAX),
            reset_at=verdict.reset_at if session_class is SessionClass.LIMITED else None,
            resume_id=None if verdict.gone and session_class in USELESS else self.dialogue.session_id or None,
            detail=detail,
        )
        return Ending(conclusion=conclusion, events=tuple(events))

    def read(self, message: Fields) -> list[SessionEvent] | None:
        """Read a message of either kind; None for one that says nothing known."""
        method = message.text("method")
        if not method:
            return self.on_answer(message)
        params = message.inner("params")
        if "id" in message.values:
            return self.on_request(method, message.values["id"], params)
        if method == "session/update":
            return self.on_update(params.inner("update"))
        return None if method.partition("/")[0] in PROTOCOL_PARTS else []

    def on_answer(self, message: Fields) -> list[SessionEvent] | None:
        """Go on after an answer to one of our requests."""
        step = self.dialogue.step_of(message.values.get("id"))
        if step is None:
            return None
        if "result" not in message.values and not self.dialogue.dispensable(step):
            resuming = self.dialogue.opening.resume_id is not None
            self.verdict.broke(step, message.inner("error"), self.now(), resuming=resuming)
            return self.over("error")
        result = message.values.get("result")
        try:
            ended = wire.read_ended(result) if step is Step.PROMPT else None
            self.dialogue.answered(step, result)
        except DialogueError as error:
            self.verdict.useless(error.fact, str(error))
            return self.over(error.fact)
        except ValueError as error:
            fact = "unreadable" if step is Step.PROMPT else "protocol"
            self.verdict.useless(fact, f"the answer to {step} cannot be read: {error}")
            return self.over(fact)
        if ended is not None:
            return self.on_end(ended, Fields(result).inner("_meta"))
        return self.on_opened() if step is Step.SESSION else []

    def on_opened(self) -> list[SessionEvent]:
        """Report that the session is there, and which servers the agent could not be told of."""
        dialogue = self.dialogue
        start = Started(
            at=self.stamper.again(),
            resume_id=dialogue.session_id,
            model=head(dialogue.model, NAME_CHARACTERS_MAX),
            version=head(dialogue.agent.version if dialogue.agent else "", NAME_CHARACTERS_MAX),
        )
        return [start, *(self.error("mcp_unreachable", name) for name in dialogue.left_out)]

    def on_end(self, ended: wire.Ended, meta: Fields) -> list[SessionEvent]:
        """Take the reason to stop and what the turn has cost."""
        self.verdict.reason = ended.reason
        tokens, cost = self.spending.of_end(Fields(ended.usage), meta)
        events = self.spoken()
        if tokens.total or cost is not None:
            events.append(Usage(at=self.stamper.again(), tokens=tokens, cost_micros=cost))
        return [*events, *self.finished(ended.reason)]

    def over(self, code: str) -> list[SessionEvent]:
        """End a session that can go no further."""
        return [*self.spoken(), self.error(code, self.verdict.message), *self.finished(code)]

    def finished(self, reason: str) -> list[SessionEvent]:
        """Report the end."""
        return [Finished(at=self.stamper.again(), failed=self.verdict.failed, reason=head(reason, NAME_CHARACTERS_MAX))]

    def error(self, code: str, message: str) -> SessionError:
        """Report an error."""
        return SessionError(at=self.stamper.again(), code=code, message=head(message, DETAIL_CHARACTERS_MAX))

    def on_request(self, method: str, number: object, params: Fields) -> list[SessionEvent]:
        """Answer what the agent asks: for leave by the policy, for anything else that nobody is here."""
        if method == "session/request_permission":
            return self.on_permission(number, params)
        if method == "elicitation/create":
            self.dialogue.answer(number, {"action": "decline"})
        else:
            self.dialogue.refuse(number, method)
        return []

    def on_permission(self, number: object, params: Fields) -> list[SessionEvent]:
        """Give or refuse leave for one call."""
        piece = params.inner("toolCall")
        call_id = piece.text("toolCallId")
        events = [*self.spoken(), *self.tools.learnt(piece, asked=True)]
        policy = self.dialogue.opening.policy
        allowed = policy.allows(self.tools.kind_of(call_id), mcp=self.tools.is_mcp(call_id))
        option = choose(params.each("options"), allowed=allowed)
        self.dialogue.answer(number, wire.permitted(option))
        if allowed and option:
            return events
        self.tools.deny(call_id)
        name = self.tools.calls.tool_of(call_id).name
        return [*events, Denied(at=self.stamper.again(), call_id=head(call_id, NAME_CHARACTERS_MAX), name=name)]

    def on_update(self, update: Fields) -> list[SessionEvent] | None:
        """Read what the agent does; the past of a session that is gone on with is no news."""
        kind = update.text("sessionUpdate")
        if kind == "usage_update":
            self.spending.of_session(update, before=Step.PROMPT not in self.dialogue.waiting.values())
            return []
        if kind in self.signatures.ignored or (self.dialogue.replaying and kind):
            return []
        rule = UPDATES.get(kind)
        return rule(self, update) if rule else None

    def on_chunk(self, update: Fields) -> list[SessionEvent]:
        """Take a piece of the agent's message; some hang the tokens of a model call on it."""
        self.saying = (self.saying + update.inner("content").text("text"))[-TEXT_CHARACTERS_MAX:]
        tokens = self.spending.of_chunk(update.inner("_meta"))
        return [*self.spoken(), Usage(at=self.stamper.again(), tokens=tokens)] if tokens.total else []

    def on_call(self, update: Fields) -> list[SessionEvent]:
        """Take a piece of a tool call."""
        self.verdict.spoke = True
        return [*self.spoken(), *self.tools.learnt(update)]

    def spoken(self) -> list[SessionEvent]:
        """Report the message that stands complete now, if there is one."""
        text, self.saying = self.saying, ""
        if not text.strip():
            return []
        self.said, self.verdict.spoke = text, True
        return [Text(at=self.stamper.again(), text=head(text, TEXT_CHARACTERS_MAX))]

    def now(self) -> Instant | None:
        """Return the wall clock: that of the start, and how long the agent has spoken since."""
        if self.started_at is None or self.first_arrival_us is None:
            return self.started_at
        return later(self.started_at, self.stamper.last_arrival_us - self.first_arrival_us)


UPDATES: Mapping[str, Callable[[AcpReader, Fields], list[SessionEvent]]] = {
    "agent_message_chunk": AcpReader.on_chunk,
    "tool_call": AcpReader.on_call,
    "tool_call_update": AcpReader.on_call,
}
