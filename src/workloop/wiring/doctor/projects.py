"""How the doctor looks at projects: repository, branch, store and queue, opened by what the loop opens them with."""

from collections.abc import Iterator, Mapping

from workloop.config import Settings, TargetSettings
from workloop.config.mcp import found_files
from workloop.domain.errors import NotFound, WorkloopError
from workloop.domain.settings import read_settings
from workloop.driver.gitshop import GitShop
from workloop.runner.git import GitError
from workloop.runner.repository import Repository, open_repository
from workloop.service.call import Queue, require_campaign
from workloop.service.insights import poll
from workloop.store.system import SystemIds
from workloop.wiring import open_store
from workloop.wiring.doctor.delivery import Surroundings, look_at_delivery
from workloop.wiring.doctor.finding import Finding, broken, doubtful, entry_of, fine, refused
from workloop.wiring.tracking import missing_folder


def look_at_project(settings: Settings, target: TargetSettings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Look at one project of the loop."""
    try:
        repository = repository_of(settings, target)
    except (WorkloopError, OSError) as error:
        repository = None
        yield unopened(target, error)
    else:
        yield fine(f"repository[{target.name}]", f"{repository.path}, work lands on {repository.integration_branch}")
        yield look_at_room_for(settings, target, repository)
    yield from look_at_store(Surroundings(settings, target, repository, environment))
    if target.config.paused:
        remedy = f"take paused out of [target.{target.name}]"
        yield doubtful(f"target[{target.name}]", f"paused by the settings: {target.config.paused}", remedy)
    yield from look_at_tracker(settings, target)
    found = found_files(target.place.repository)
    if found:
        names = ", ".join(str(path.relative_to(target.place.repository)) for path in found)
        yield fine(f"found[{target.name}]", f"not given to sessions, because a session could change them: {names}")


def look_at_tracker(settings: Settings, target: TargetSettings) -> Iterator[Finding]:
    """Look for the foreign backlog that the settings name, and whether a session could write into a trusted one."""
    tracker = target.config.tracker
    if tracker is None:
        return
    check, entry = f"tracker[{target.name}]", entry_of(settings, target, "tracker")
    gone = missing_folder(tracker)
    if gone:
        yield doubtful(check, f"{gone}; nothing new comes from it", f"make it, or correct {entry}.path")
    elif tracker.trusted and tracker.path.resolve().is_relative_to(target.place.repository):
        said = f"{tracker.path} is trusted and lies in the work dir: what a session lands there is work at once"
        yield doubtful(check, said, f"set {entry}.trusted = false and promote what is to be done")
    else:
        yield fine(check, f"{tracker.kind} tasks in {tracker.path}")


def repository_of(settings: Settings, target: TargetSettings) -> Repository:
    """Open the repository as the loop does: git, work tree, branch."""
    branch = target.config.integration_branch or settings.loop.integration_branch or None
    return open_repository(target.place.repository, target.place.folder / "git", branch)


def unopened(target: TargetSettings, error: WorkloopError | OSError) -> Finding:
    """Tell why a repository cannot be opened."""
    check = f"repository[{target.name}]"
    if isinstance(error, GitError) or not isinstance(error, WorkloopError):
        return broken(check, f"git does not answer: {error}", "install git, version 2.38 or later, and put it on PATH")
    return refused(check, error)


def look_at_room_for(settings: Settings, target: TargetSettings, repository: Repository) -> Finding:
    """Tell whether the disk has room for a work tree, as the loop asks before each session."""
    check = f"disk[{target.name}]"
    held = GitShop(repository, disk=settings.loop.disk).room()
    if held:
        return broken(check, f"{held}; no session begins", "workloop gc, or make room, or change that key")
    return fine(check, "room for another work tree")


def look_at_store(around: Surroundings) -> Iterator[Finding]:
    """Open the store as the loop does, whole, and ask it how the campaign stands."""
    target = around.target
    check = f"store[{target.name}]"
    try:
        store = open_store(target.place, read_only=True, check=True)
    except WorkloopError as error:
        yield refused(check, error)
        return
    try:
        yield fine(check, f"{target.place.store} is whole")
        queue = Queue(store=store, ids=SystemIds(), slug=target.campaign)
        yield from look_at_campaign(queue, target)
        yield from look_at_delivery(queue, around)
    finally:
        store.close()


def look_at_campaign(queue: Queue, target: TargetSettings) -> Iterator[Finding]:
    """Look at the campaign that the settings name."""
    check = f"campaign[{target.name}]"
    try:
        wanted = read_settings(target.campaign_table)
        with queue.store.read() as tx:
            holds = require_campaign(tx, queue.slug).settings
        seen = poll(queue)
    except NotFound as error:
        yield broken(check, error.message, f"workloop init --campaign {queue.slug}")
        return
    except WorkloopError as error:
        yield refused(check, error)
        return
    if holds == wanted:
        yield fine(check, f"{queue.slug} holds what the settings say")
    else:
        yield doubtful(check, "the campaign table was changed and does not hold yet", "workloop campaign apply")
    where = f"work[{target.name}]"
    if seen.paused:
        yield doubtful(where, f"campaign {queue.slug} is paused: nothing is handed out", "workloop resume")
    elif seen.work:
        yield fine(where, "there is something to claim")
    elif seen.open_questions:
        asked = f"nothing can be claimed and {seen.open_questions} questions wait for a person"
        yield doubtful(where, asked, "workloop status names them; answer with workloop answer KEY TEXT")
    else:
        yield doubtful(where, "nothing can be claimed now", 'workloop add "TITLE" --check "COMMAND"')
