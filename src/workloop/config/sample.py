"""What the settings file says that `workloop init` writes."""

from workloop.config.place import Place
from workloop.config.sandbox import SandboxWish

COLUMN = 9
SAMPLE = """\
# Workloop's settings for {repository}
# Only this file is read; nothing in the repository can change it.

[campaign]
name = "main"
slots = 3                     # items in work at the same time
landing = "none"              # or "local-merge", "push" or "pr": what becomes of what is verified

[campaign.boundaries]         # decisions that only a person may take, and the question each one asks
spend-money = "May this cost money, and how much?"
delete-data = "May this data be deleted for good?"

[campaign.defaults]
boundaries = ["spend-money", "delete-data"]
# verification = "both"       # host checks, then an independent session; or "host", "session", "none"
# guards = [{{ id = "suite", command = "python -m pytest -q" }}]

[loop]
harness = "claude"            # the name of a [harness.*] block, or a kind: claude, codex, opencode, copilot, qwen
# agents = ["claude", "codex-work"]   # instead: the next one goes on while the first is limited or stopped
sessions_max = 1              # agent sessions at the same time
integration_branch = "{branch}"
# run_seconds_max = 36000     # end after ten hours; max_iterations = 40 ends after forty sessions
# active_hours = ["mon-fri 19:00-07:00", "sat,sun 00:00-24:00"]
# on_limit = "wait"           # at a usage limit: "wait" for its reset and go on with the rest, "stop" or "ask"
# untested_versions = "warn"  # an agent in a version that was not tested: "warn", "refuse" or "allow"
# environment = ["ANTHROPIC_API_KEY"]   # variables that sessions may see, beyond PATH, HOME and the locale

[sandbox]                     # walls around sessions and checks, which keep this file and the store out of their reach
kind = "{sandbox}"            {pad}# "bwrap": do not run without; "auto": where it works; "none"
# network = "open"            # what sessions reach: "open", "loopback" (the loop and sandbox.ports alone) or "none"
# checks_network = "open"
# readable = ["~/.cargo"]     # tool chains in your home that sessions and checks need; the rest of it is hidden

# [disk]
# free_bytes_min = 1073741824 # with less free room no session begins; 0 is no bound
# outputs = ["node_modules"]  # folders that builds fill, which `workloop gc --outputs` takes out of trees

# [budget.run]                # ceilings: see docs/budgets.md; also day, campaign, target, harness, item and session
# cost_usd = 20.0
# [budget.session]
# cost_usd = 3.0

[harness.claude]
# model = "sonnet"
# turns_max = 200
# cost_usd_max = 5.0          # per session

# A second agent, or a second account of the same one, is a block of its own, which loop.agents or a phase may name:
# [harness.codex-work]
# kind = "codex"
# account = "work"            # whose usage limits its sessions share
# models = {{ strong = "gpt-5.5" }}
#
# [[phase]]
# name = "implement"
#
# [[phase]]
# name = "review"             # may run on another agent: it is told nothing that the first one said
# harness = "codex-work"
# tier = "strong"
"""


def sample(place: Place, branch: str, sandbox: SandboxWish = SandboxWish.AUTO) -> str:
    """Return the settings file that `workloop init` writes."""
    pad = " " * (COLUMN - len(sandbox))
    return SAMPLE.format(repository=place.repository, branch=branch, sandbox=sandbox.value, pad=pad)
