"""Which of the errors of tasks that ran together is the one to tell."""

from typing import cast


def first_of(error: BaseException) -> BaseException:
    """Return the first error inside nested groups."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return first_of(group.exceptions[0])
