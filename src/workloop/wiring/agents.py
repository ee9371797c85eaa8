"""Which agents a loop knows by name: those of its settings, and the accounts that its journal tells of."""

from pathlib import Path

from workloop.config import Settings
from workloop.domain.errors import NotFound
from workloop.wiring.journal import JOURNAL_NAME


def agents_known(settings: Settings | None, folder: Path) -> tuple[str, ...]:
    """Return every name that an agent can be called by, in order; settings with a mistake in them name none."""
    return tuple(sorted({*named(settings), *journalled(folder)}))


def named(settings: Settings | None) -> set[str]:
    """Return the harnesses that the settings name, those of single targets included."""
    if settings is None:
        return set()
    own = (name for target in settings.targets for name in target.config.agents)
    return {*settings.loop.harness_names(own), *settings.loop.harnesses}


def journalled(folder: Path) -> set[str]:
    """Return the harnesses and whole accounts that a loop kept; nothing before its first run."""
    from workloop.store.journal.sqlite import read_journal

    try:
        journal = read_journal(folder / JOURNAL_NAME)
    except NotFound:
        return set()
    try:
        return {name for gate in journal.gates() for name in (gate.key.harness, str(gate.key))}
    finally:
        journal.close()
