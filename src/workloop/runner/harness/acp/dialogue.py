"""What is said to an agent, and in which order: the opening, the session, the prompt, and answers to what it asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workloop.runner.harness.acp import wire
from workloop.runner.harness.acp.permission import Policy
from workloop.runner.harness.acp.servers import Server, reachable
from workloop.runner.harness.fields import Fields


class Step(StrEnum):
    """The requests of our side, in their order."""

    INITIALIZE = "initialize"
    AUTHENTICATE = "authenticate"
    SESSION = "session"
    MODE = "mode"
    MODEL = "model"
    PROMPT = "prompt"


NUMBERS: Mapping[Step, int] = {step: number for number, step in enumerate(Step, start=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a session is about."""

    prompt: str
    cwd: str
    version: str = "0"
    resume_id: str | None = None
    model: str = ""
    mode: str = ""
    login: str = ""
    own: tuple[Server, ...] = ()
    others: tuple[Server, ...] = ()
    policy: Policy = field(default_factory=Policy)


class DialogueError(Exception):
    """The agent cannot do what the session needs; the first argument is the fact by which that is judged."""

    def __init__(self, fact: str, message: str) -> None:
        super().__init__(message)
        self.fact = fact


class Dialogue:
    """Our side of one conversation; nothing here does I/O."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.outbox: list[bytes] = []
        self.waiting: dict[int, Step] = {}
        self.agent: wire.Agent | None = None
        self.session_id = ""
        self.model = ""
        self.mode = ""
        self.options: list[Fields] = []
        self.left_out: tuple[str, ...] = ()
        self.replaying = False
        self.ask(Step.INITIALIZE, "initialize", wire.initialize(opening.version))

    def take(self) -> bytes:
        """Return what is to be sent, once."""
        sent, self.outbox = b"".join(self.outbox), []
        return sent

    def ask(self, step: Step, method: str, params: Mapping[str, Any]) -> None:
        """Put a request into the outbox."""
        number = NUMBERS[step]
        self.waiting[number] = step
        self.outbox.append(wire.line_of({"id": number, "method": method, "params": params}))

    def answer(self, number: object, result: Mapping[str, Any]) -> None:
        """Put an answer into the outbox."""
        self.outbox.append(wire.line_of({"id": number, "result": result}))

    def refuse(self, number: object, method: str) -> None:
        """Answer that nothing here does what the agent asks for."""
        error = {"code": wire.NO_SUCH_METHOD, "message": f"not offered: {method[:100]}"}
        self.outbox.append(wire.line_of({"id": number, "error": error}))

    def step_of(self, number: object) -> Step | None:
        """Return which of our requests an answer belongs to, once."""
        return self.waiting.pop(number, None) if isinstance(number, int) else None

    def answered(self, step: Step, result: object) -> None:
        """Go on after an answer; raises ValueError for an unreadable one, DialogueError for one that is no use."""
        match step:
            case Step.INITIALIZE:
                self.met(wire.read_agent(result))
            case Step.AUTHENTICATE:
                self.open_session()
            case Step.SESSION:
                self.opened(Fields(result))
            case Step.MODE | Step.MODEL:
                self.go_on(step)
            case Step.PROMPT:
                return

    def met(self, agent: wire.Agent) -> None:
        """Log in where the operator said how, then open the session."""
        self.agent = agent
        if agent.protocol != wire.PROTOCOL:
            raise DialogueError("protocol", f"the agent speaks version {agent.protocol} of the protocol")
        if self.opening.login:
            self.ask(Step.AUTHENTICATE, "authenticate", wire.authenticate(self.opening.login))
        else:
            self.open_session()

    def open_session(self) -> None:
        """Ask for a fresh session, or for the earlier one in the way that repeats least of it."""
        agent, opening = self.agent, self.opening
        if agent is None:
            raise DialogueError("protocol", "the agent never introduced itself")
        servers, self.left_out = reachable(opening.own, opening.others, agent.transports)
        if opening.resume_id is None:
            self.ask(Step.SESSION, "session/new", wire.new_session(opening.cwd, servers))
            return
        self.session_id = opening.resume_id
        known = wire.known_session(opening.resume_id, opening.cwd, servers)
        if agent.resumes:
            self.ask(Step.SESSION, "session/resume", known)
        elif agent.loads:
            self.replaying = True
            self.ask(Step.SESSION, "session/load", known)
        else:
            raise DialogueError("gone", "the agent cannot go on with an earlier session")

    def opened(self, session: Fields) -> None:
        """Take the session's name, its mode and its options."""
        self.session_id = session.text("sessionId") or self.session_id
        self.mode = session.inner("modes").text("currentModeId")
        self.options = session.each("configOptions")
        self.model = self.option("model").text("currentValue")
        if not self.session_id:
            raise DialogueError("protocol", "the agent opened a session without a name")
        self.go_on(Step.SESSION)

    def option(self, category: str) -> Fields:
        """Return the agent's option of a category, empty when it has none."""
        found = (option for option in self.options if category in {option.text("category"), option.text("id")})
        return next(found, Fields(None))

    def go_on(self, done: Step) -> None:
        """Send the next request after a step."""
        later = {Step.SESSION: 0, Step.MODE: 1, Step.MODEL: 2}[done]
        for ask in (self.ask_mode, self.ask_model, self.ask_prompt)[later:]:
            if ask():
                return

    def ask_mode(self) -> bool:
        """Ask for the mode that the operator chose, if there is one.

        An agent that repeats the past may do so after it has said that the session is there, but before it answers
        the next request: so it is asked for the mode that it is in.
        """
        wanted = self.opening.mode or (self.mode if self.replaying else "")
        if wanted:
            self.ask(Step.MODE, "session/set_mode", wire.set_mode(self.session_id, wanted))
        return bool(wanted)

    def dispensable(self, step: Step) -> bool:
        """Tell whether an answer was awaited for its time alone."""
        return step is Step.MODE and not self.opening.mode

    def ask_model(self) -> bool:
        """Ask for the model, where it is another than the agent's choice."""
        wanted = self.opening.model
        if not wanted or wanted == self.model:
            return False
        option = self.option("model").text("id")
        if not option:
            raise DialogueError("model", f"the agent offers no choice of models, so not {wanted}")
        self.ask(Step.MODEL, "session/set_config_option", wire.set_option(self.session_id, option, wanted))
        self.model = wanted
        return True

    def ask_prompt(self) -> bool:
        """Send the prompt; what the agent says from here on is new."""
        self.replaying = False
        self.ask(Step.PROMPT, "session/prompt", wire.prompt(self.session_id, self.opening.prompt))
        return True
