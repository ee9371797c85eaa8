"""How people get a first campaign of the repair bench, complete and small, to be edited into their own."""

from workloop.domain.errors import BadRequest
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

PLACES = (Place("folder"),)
AGENTS = ("claude", "codex", "opencode", "copilot", "qwen")
AGENT = Option(("--agent",), "agent", Shape.TEXT, "the agent that works and repairs; usual is claude", "", AGENTS)


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (AGENT,)


def run(invocation: Invocation, given: Given) -> int:
    """Make the campaign and say what to do next."""
    from pathlib import Path

    from workloop.config import find_repository
    from workloop.wiring.repair_init import InitOrder, begin_campaign

    if len(given.places) != 1:
        raise BadRequest("USAGE", "name a new folder", hint="workloop repair init FOLDER [-C PROJECT]")
    agent = str(values_of(given.options).get("agent", AGENTS[0]))
    if agent not in AGENTS:
        raise BadRequest("USAGE", f"{agent!r} is none of {', '.join(AGENTS)}", hint="name one of them with --agent")
    project = find_repository(invocation.start().resolve()) if invocation.project else None
    order = InitOrder(folder=Path(given.places[0]).absolute(), agent=agent, project=project)
    render.answer(invocation, "repair init", begin_campaign(order, invocation.environment))
    return exits.OK
