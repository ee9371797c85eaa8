"""How the loop is started from a terminal, how it tells what it does, and how its end becomes an exit code."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workloop.domain.errors import WorkloopError
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import Invocation
from workloop.interfaces.cli.spelling import Given, Option, Place, values_of
from workloop.service.arguments import Shape

if TYPE_CHECKING:
    from workloop.config import Settings
    from workloop.driver.report import LoopReport

PLACES: tuple[Place, ...] = ()


def options() -> tuple[Option, ...]:
    """Return what the command takes."""
    return (
        Option(("--once",), "once", Shape.FLAG, "end when nothing is claimable"),
        Option(("--sessions",), "sessions", Shape.WHOLE, "end after this many agent sessions"),
        Option(("--dry-run",), "dry_run", Shape.FLAG, "say what would be claimed now, and change nothing"),
        Option(("--parallel",), "parallel", Shape.WHOLE, "agent sessions at the same time, instead of sessions_max"),
    )


def run(invocation: Invocation, given: Given) -> int:
    """Run the loop until it ends."""
    from workloop.domain.reader import Reader
    from workloop.driver.report import LoopOptions

    settings = invocation.settings(whole=True)
    reader = Reader(values_of(given.options))
    chosen = LoopOptions(
        once=reader.flag("once"),
        sessions=reader.whole("sessions", default=0, lowest=1, highest=1_000_000) or settings.loop.max_iterations,
        parallel=reader.whole("parallel", default=settings.loop.sessions_max, lowest=1, highest=64),
        idle_poll_seconds=settings.loop.idle_poll_interval,
        dry_run=reader.flag("dry_run"),
        run_seconds=settings.loop.run_seconds_max,
        sessions_host=settings.loop.sessions_max_host,
    )

    def tell(event: str, facts: Mapping[str, Any]) -> None:
        """Say what the loop does, on stderr."""
        render.event(invocation, event, facts)

    surfaces = invocation.surfaces
    report = surfaces.run_loop(settings, chosen, surfaces.make_endpoint, tell)
    facts = {
        "reason": report.reason.value,
        "attended": report.attended,
        "sessions": report.sessions,
        "landings": report.landings,
        "detail": report.detail,
    }
    render.answer(invocation, "run", facts)
    if not invocation.json:
        render.out(last_words(settings))
    return code_of(report)


def last_words(settings: "Settings") -> str:
    """Say for people what has become of the work and what waits for them, for each project where there are several."""
    from dataclasses import replace

    from workloop.domain.session import printable

    if len(settings.targets) < 2:
        return printable(f"{words_about(settings)}; workloop status says more")
    lines = [
        f"{target.name}: {words_about(replace(settings, place=target.place, campaign=target.campaign))}"
        for target in settings.targets
    ]
    return printable("\n".join([*lines, "workloop -C PROJECT status says more"]))


def words_about(settings: "Settings") -> str:
    """Say how the work of one project stands."""
    from workloop.wiring import local_client

    try:
        standing = local_client(settings).call("status", {})
    except WorkloopError as error:
        return f"how the work stands cannot be read: {error.message}"
    work, asked = standing["work"], standing["questions"]
    parts = [f"{work.get('succeeded', 0)} of {sum(work.values())} done"]
    if standing["to_land"]:
        parts.append(f"{standing['to_land']} of them wait to land")
    if work.get("failed"):
        parts.append(f"{work['failed']} failed: {named(standing['failed'])}")
    if asked:
        parts.append(f"{len(asked)} wait for an answer: {named(asked)}")
    if standing["waiting"]["blocked"]:
        parts.append(f"{standing['waiting']['blocked']} blocked")
    return "; ".join(parts)


def named(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name items by their keys."""
    return ", ".join(row["key"] for row in rows)


def code_of(report: "LoopReport") -> int:
    """Return the exit code of a run."""
    if report.signal_number:
        return 128 + report.signal_number
    match report.reason.value:
        case "nothing_claimable":
            return exits.OK if report.attended or report.landings else exits.NOTHING
        case "harness_stopped" | "budget_spent":
            return exits.STOPPED
        case "limited":
            return exits.LIMITED
        case "faults":
            return exits.UNEXPECTED
        case _:
            return exits.OK
