"""What the settings file says that `workloop init` writes."""

from workloop.config.place import Place

SAMPLE = """\
# Workloop's settings for {repository}
# Only this file is read; nothing in the repository can change it.

[campaign]
name = "main"
slots = 3                     # items in work at the same time
landing = "none"              # or "local-merge": merge what is verified into the integration branch

[campaign.boundaries]         # decisions that only a person may take, and the question each one asks
spend-money = "May this cost money, and how much?"
delete-data = "May this data be deleted for good?"

[campaign.defaults]
boundaries = ["spend-money", "delete-data"]
# verification = "both"       # host checks, then an independent session; or "host", "session", "none"
# guards = [{{ id = "suite", command = "python -m pytest -q" }}]

[loop]
harness = "claude"            # or "command", "scripted"
sessions_max = 1              # agent sessions at the same time
integration_branch = "{branch}"
# environment = ["ANTHROPIC_API_KEY"]   # variables that sessions may see, beyond PATH, HOME and the locale

[harness.claude]
# model = "sonnet"
# turns_max = 200
# cost_usd_max = 5.0          # per session
"""


def sample(place: Place, branch: str) -> str:
    """Return the settings file that `workloop init` writes."""
    return SAMPLE.format(repository=place.repository, branch=branch)
