"""How one call of the command runs to its exit code, whatever happens on the way."""

import errno
import os
import sys
from collections.abc import Sequence

from workloop.domain.errors import BadRequest, StoreUnavailable, WorkloopError
from workloop.interfaces.cli import exits, render
from workloop.interfaces.cli.invocation import COMPLETE_VARIABLE, invocation_of
from workloop.interfaces.cli.plain import read_line
from workloop.interfaces.cli.surfaces import Surfaces


def run(words: Sequence[str], surfaces: Surfaces) -> int:
    """Run one command line; returns the exit code and never raises."""
    try:
        return guarded(words, surfaces)
    except KeyboardInterrupt:
        render.tell("interrupted")
        return exits.INTERRUPTED
    except BrokenPipeError:
        render.hush()
        return exits.OK
    except Exception as error:
        if os.environ.get("WORKLOOP_DEBUG"):
            raise
        render.tell(f"error: {type(error).__name__}: {error}")
        render.tell("hint: set WORKLOOP_DEBUG=1 and repeat it to see where, and report it")
        return exits.UNEXPECTED


def guarded(words: Sequence[str], surfaces: Surfaces) -> int:
    """Run one command line; a WorkloopError is shown and becomes its exit code."""
    try:
        return dispatch(words, surfaces)
    except WorkloopError as error:
        render.failure(error, as_json=wants_json(words))
        return exits.exit_code(error)
    except (UnicodeError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        refused = refusal_of(error)
        render.failure(refused, as_json=wants_json(words))
        return exits.exit_code(refused)


def refusal_of(error: UnicodeError | OSError) -> WorkloopError:
    """Say what a failed file means: a full disk is nobody's mistake on the command line, and passes."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = error.filename or "the disk that holds the state folder"
        return StoreUnavailable("DISK_FULL", told(error), hint=f"free space on {where}")
    return BadRequest("FILE_UNREADABLE", told(error), hint="check the path, its mode and its encoding")


def told(error: UnicodeError | OSError) -> str:
    """Say what could not be read, without the numbers of the operating system."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)


def dispatch(words: Sequence[str], surfaces: Surfaces) -> int:
    """Run a plain command line at once; leave help, completion and mistakes to the library."""
    line = None if COMPLETE_VARIABLE in os.environ else read_line(words)
    if line is None:
        from workloop.interfaces.cli.group import invoke

        return invoke(words, surfaces)
    return line.plan.run(invocation_of(surfaces, line.options), line.given)


def wants_json(words: Sequence[str]) -> bool:
    """Tell whether an error is for a program, though the command line may not be understood."""
    if "--json" in words or "--no-json" in words:
        return "--no-json" not in words
    return not sys.stderr.isatty()
