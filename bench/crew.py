"""How several processes work at one store at the same time and hand back what they saw."""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier
from queue import Empty
from typing import Any

WAIT_SECONDS = 300
LEAD_SECONDS = 0.2


class Gate:
    """What lets a crew begin at one instant; a barrier wakes its members one by one, a clock wakes all at once."""

    def __init__(self, context: Any, number: int) -> None:
        self.barrier: Barrier = context.Barrier(number)
        self.at = context.Value("d", 0.0)

    def together(self) -> None:
        """Wait until everybody is here."""
        self.barrier.wait(WAIT_SECONDS)

    def begin(self) -> float:
        """Wait until everybody is here and then until one common instant, which is returned."""
        if self.barrier.wait(WAIT_SECONDS) == 0:
            self.at.value = time.perf_counter() + LEAD_SECONDS
        self.barrier.wait(WAIT_SECONDS)
        time.sleep(max(0.0, self.at.value - time.perf_counter()))
        return self.at.value


Work = Callable[[int, Gate, Any], Any]


def member(work: Work, index: int, gate: Gate, task: Any, answers: Any) -> None:
    """Do one member's work and hand back what it returns."""
    answers.put((index, work(index, gate, task)))


def crew(number: int, work: Work, task: Any) -> list[Any]:
    """Run a function in so many processes; returns what each of them returned."""
    context = multiprocessing.get_context("spawn")
    gate, answers = Gate(context, number), context.Queue()
    members = [context.Process(target=member, args=(work, index, gate, task, answers)) for index in range(number)]
    for process in members:
        process.start()
    found: dict[int, Any] = {}
    try:
        while len(found) < number:
            found |= dict(gathered(answers, members))
    finally:
        for process in members:
            process.join(1 if len(found) < number else WAIT_SECONDS)
            process.terminate()
    return [found[index] for index in range(number)]


def gathered(answers: Any, members: list[Any]) -> list[tuple[int, Any]]:
    """Return the next answer, or none for a moment; raises when a member died without one."""
    try:
        return [answers.get(timeout=1)]
    except Empty:
        if any(process.exitcode for process in members):
            raise RuntimeError("a process of the crew failed; its error is above") from None
        return []
