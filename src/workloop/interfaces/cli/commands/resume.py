"""How a person lets work go on: a campaign, one target, an agent account whose remedy was applied, or a halted loop."""

from pathlib import Path

from workloop.domain.errors import BadRequest, NotFound
from workloop.interfaces.cli import acting, exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option
from workloop.interfaces.cli.verbs import VERBS, verb_options
from workloop.service.arguments import Shape

VERB = VERBS["resume"]
PLACES = VERB.places
TARGET = Option(("--target",), "target", Shape.TEXT, "one target of the loop that was paused")
AGENT = Option(("--agent",), "agent", Shape.TEXT, "a stopped harness, or harness/account/tier, that is mended")
HALTED = Option(("--halted",), "halted", Shape.FLAG, "let a halted loop start again")
OWN = (TARGET, AGENT, HALTED)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (*verb_options(VERB), *OWN)


def run(invocation: Invocation, given: Given) -> int:
    """Let go what is named, or the campaign when nothing is."""
    chosen = {option.name: text for option, text in given.options if option in OWN}
    if not chosen:
        return acting.run_verb(invocation, VERB, given)
    from workloop.driver.switches import lift_halt, order_open, order_resume

    folder = invocation.orders()
    if "agent" in chosen:
        require_agent(invocation, folder, chosen["agent"])
    answer: dict[str, object] = {}
    if "target" in chosen:
        answer |= {"target": chosen["target"], "was_paused": order_resume(folder, chosen["target"])}
    if "agent" in chosen:
        order_open(folder, chosen["agent"])
        answer["agent"] = chosen["agent"]
    if "halted" in chosen:
        answer["was_halted"] = lift_halt(folder)
    render.answer(invocation, "resume", answer)
    return exits.OK


def require_agent(invocation: Invocation, folder: Path, name: str) -> None:
    """Raise NotFound for an agent that neither the settings nor the loop's journal knows; then nothing is written."""
    from workloop.wiring.agents import agents_known

    try:
        settings = invocation.settings(whole=True)
    except BadRequest:
        settings = None
    known = agents_known(settings, folder)
    if name not in known:
        hint = f"agents: {', '.join(known) or 'none'}"
        raise NotFound("AGENT_NOT_FOUND", f"the loop knows no agent {name!r}", hint=hint)
