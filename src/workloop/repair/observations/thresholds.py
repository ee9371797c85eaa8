"""From when on something is worth a look, and which tools are never looked at for their time or their absence."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloop.domain.errors import BadRequest

SLOW_MS = 120_000
COUNT_MAX = 1_000_000
SLOW_MS_MAX = 24 * 60 * 60 * 1_000


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# Tools whose time is a model's or a person's: sessions inside the session, and questions.
WAITING_TOOLS = words(
    """
    agent task collab_tool_call collabtoolcall collabagenttoolcall spawn_agent wait_agent new_task delegate
    askuserquestion ask_user ask_user_question ask_followup_question question exitplanmode exit_plan_mode switch_mode
    request_user_input describe_image codebase_search
    """
)
# An agent's own tools: where one of these is not there, a policy has withheld it.
OWN_TOOLS = words(
    """
    bash shell execute_command run_shell_command powershell terminal write write_file write_to_file create edit
    multiedit replace str_replace str_replace_editor apply_patch patch notebookedit read read_file view glob grep ls
    list list_directory list_files search_files webfetch web_fetch fetch websearch web_search google_web_search
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Counts and milliseconds from which on a finding is made; tools are named as the events name them."""

    errors: int = 1
    missing: int = 1
    slow_ms: int = SLOW_MS
    slow_ms_of: Mapping[str, int] = field(default_factory=dict[str, int])
    waiting_tools: frozenset[str] = WAITING_TOOLS
    own_tools: frozenset[str] = OWN_TOOLS

    def __post_init__(self) -> None:
        counts = (self.errors, self.missing)
        if not all(type(count) is int and 1 <= count <= COUNT_MAX for count in counts):
            raise BadRequest("THRESHOLD_INVALID", f"errors and missing are whole numbers from 1 to {COUNT_MAX}")
        times = (self.slow_ms, *self.slow_ms_of.values())
        if not all(type(time) is int and 1 <= time <= SLOW_MS_MAX for time in times):
            raise BadRequest("THRESHOLD_INVALID", f"times are whole milliseconds from 1 to {SLOW_MS_MAX}")

    def slow_ms_for(self, tool: str) -> int:
        """Return from how many milliseconds on a tool is slow."""
        return self.slow_ms_of.get(tool, self.slow_ms)

    def waits(self, tool: str) -> bool:
        """Say whether a tool's time is that of a model or of a person."""
        return tool.lower() in self.waiting_tools

    def is_own(self, tool: str) -> bool:
        """Say whether a tool is one that agents bring along, so that it can only have been withheld."""
        return tool.lower() in self.own_tools
