"""A model that plays a worker of mini-swe-agent: it believes its skill, reads what its shell shows, and mends a bug."""

import re
import shlex
from dataclasses import dataclass, replace
from typing import Final

from mini_swe import Change

from workloop.testing.model.conversation import Conversation
from workloop.testing.model.moves import Call, Move

HAND_IN: Final = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
BLIND: Final = "An error occurred while executing the command"
COMMIT: Final = "git add --all && git -c user.name=Worker -c user.email=worker@example.org commit --quiet --message"
SKILL_PLACE: Final = re.compile(r"\((/\S+/run-tests/SKILL\.md)\)")
TOLD_TOOL: Final = re.compile(r"with the tool `(\w+)`")


def shell(command: str, say: str = "") -> Call:
    """Return a call of the one tool that the agent has."""
    return Call("bash", {"command": command}, say=say)


def mending(change: Change) -> str:
    """Return the command that makes a change in a file."""
    program = (
        "import pathlib, sys; p, a, b = sys.argv[1:]; f = pathlib.Path(p); t = f.read_text(); assert t.count(a) == 1"
    )
    return shlex.join(
        ["python3", "-c", f"{program}; f.write_text(t.replace(a, b))", change.path, change.before, change.after]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairer:
    """Makes some changes in the harness, whatever they are worth, and commits them."""

    changes: tuple[Change, ...]
    first: tuple[str, ...] = ()

    def looking_first(self, command: str) -> "Repairer":
        """Return one that has a command run before."""
        return replace(self, first=(command,))

    def move(self, heard: Conversation) -> Move:
        """Return the next move."""
        commands = (*self.first, *map(mending, self.changes), f"{COMMIT} 'fix: the harness'", HAND_IN)
        return shell(commands[heard.step], "I repair it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mender:
    """Mends one bug that one test module shows, in the way that the skill tells."""

    module: str
    bug: Change

    def move(self, heard: Conversation) -> Move:
        """Return the next move."""
        place = SKILL_PLACE.search(heard.prompt)
        if heard.step == 0:
            return shell(f"cat {place[1]}" if place else "ls", "I read how tests are run.")
        if heard.step == 1 and heard.found(TOLD_TOOL.pattern) != "bash" and "Unknown tool" not in heard.prompts[-1]:
            return Call(heard.found(TOLD_TOOL.pattern), {"module": self.module}, say="As told.", unoffered=True)
        if heard.step == 1:
            return shell(f"python3 -m unittest -v {self.module}", "I run the test.")
        if BLIND in heard.last_result:
            return shell(f"{HAND_IN}; echo 'I cannot see what the test says.'", "I give up.")
        return self.seeing(heard)

    def seeing(self, heard: Conversation) -> Move:
        """Return the next move of one who has seen the test fail."""
        match heard.step:
            case 2:
                assert "FAILED" in heard.last_result, heard.last_result
                return shell(mending(self.bug.undone), "I mend it.")
            case 3:
                return shell(f"python3 -m unittest -v {self.module} && {COMMIT} 'fix: as the test asks'")
            case _:
                return shell(HAND_IN, "Done.")
