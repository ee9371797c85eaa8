"""What an operator wants when a usage limit is met."""

from enum import StrEnum


class OnLimit(StrEnum):
    """What the loop does when an account's usage limit is reached: never more than pause that account by itself.

    wait goes on with the rest and comes back at the reset; stop and ask leave the account alone until a person acts,
    ask with a question.
    """

    WAIT = "wait"
    STOP = "stop"
    ASK = "ask"
