"""What the exit status of a program that keeps our convention means."""

from workloop.domain.session import SessionClass

CODES = {0: SessionClass.CLEAN, 75: SessionClass.LIMITED, 77: SessionClass.AUTH}


def class_of_exit(exit_code: int | None, signal: int | None) -> SessionClass:
    """Name the class: 0 clean, 75 limited, 77 auth, anything else crashed; no status at all proves nothing bad."""
    if signal is not None:
        return SessionClass.CRASHED
    return CODES.get(exit_code or 0, SessionClass.CRASHED)


def describe_exit(exit_code: int | None, signal: int | None, stderr_tail: str) -> str:
    """Say how the program ended, with its last words."""
    if signal is None and exit_code in {0, None}:
        return ""
    how = f"signal {signal}" if signal is not None else f"exit code {exit_code}"
    return f"{how} {stderr_tail.strip()[-400:]}".strip()
