"""What each key of the settings file means; a test demands an entry for every key that the readers look for."""

from collections.abc import Mapping
from typing import NamedTuple


class Meaning(NamedTuple):
    """A key's meaning, and its default where no value of the typed settings shows it."""

    text: str
    default: str = ""


MEANING: Mapping[str, Meaning] = {
    "campaign.name": Meaning("the campaign's name; `WORKLOOP_CAMPAIGN` and `--campaign` name another one", '"main"'),
    "campaign.order": Meaning('"ageing" lets waiting items rise, "strict" is priority alone', '"ageing"'),
    "campaign.rank_step_seconds": Meaning("how long an item must wait to make up for one step of priority", "216"),
    "campaign.slots": Meaning("items in work at the same time"),
    "campaign.candidates_max": Meaning("unverified results above which only follow-ups are handed out"),
    "campaign.independence": Meaning(
        '"executor" or "principal": what must differ between who builds and who verifies', '"executor"'
    ),
    "campaign.landing": Meaning('"none", or "local-merge" into the integration branch', '"none"'),
    "campaign.lanes": Meaning("names of exclusive resources that a contract may ask for"),
    "campaign.boundaries": Meaning("a table: each human-only decision with the question it asks"),
    "campaign.grantable": Meaning("authorities that an item may ask for"),
    "campaign.ceilings.lease_seconds": Meaning("how long a claim holds without a heartbeat"),
    "campaign.ceilings.verify_lease_seconds": Meaning("the same for a verifier's claim"),
    "campaign.ceilings.attempts_max": Meaning("attempts that ended by the worker's doing, before the item fails"),
    "campaign.ceilings.expiries_max": Meaning("lapsed leases, before the item fails"),
    "campaign.ceilings.rounds_max": Meaning("candidates of one root, before it fails"),
    "campaign.ceilings.priority": Meaning("the priority of items that name none; 1 comes first"),
    "campaign.defaults.checks": Meaning("checks that prove, added to every item; each needs an `id`"),
    "campaign.defaults.guards": Meaning("checks that hold before and after, added to every item; each needs an `id`"),
    "campaign.defaults.source_refs": Meaning("what every worker should read"),
    "campaign.defaults.tools": Meaning("tools that a worker must have to claim"),
    "campaign.defaults.evidence": Meaning("evidence slots that every completion must fill"),
    "campaign.defaults.authority_allow": Meaning("what workers may do, out of `grantable`"),
    "campaign.defaults.authority_deny": Meaning("what workers may not do"),
    "campaign.defaults.boundaries": Meaning("boundaries that every contract names"),
    "campaign.defaults.versions": Meaning("versions that results belong to, by name"),
    "campaign.defaults.protected": Meaning("paths that no worker may change"),
    "campaign.defaults.verification": Meaning('"both", "host", "session" or "none"', '"both"'),
    "loop.harness": Meaning('"claude", "command" or "scripted"'),
    "loop.sessions_max": Meaning("agent sessions at the same time"),
    "loop.idle_poll_seconds": Meaning("how often an idle loop looks when nothing tells it to"),
    "loop.silent_seconds": Meaning("a session without any event for so long is hung"),
    "loop.idle_seconds": Meaning("a session without progress for so long is hung"),
    "loop.wall_seconds": Meaning("a session ends after so long in any case"),
    "loop.environment": Meaning("names of variables that sessions may see beyond PATH, HOME and the locale"),
    "loop.integration_branch": Meaning("the branch that work starts from and lands on; empty for the checked out one"),
    "harness.<name>.command": Meaning("the program and its first arguments; for claude the binary"),
    "harness.<name>.model": Meaning("the model that sessions ask for"),
    "harness.<name>.home": Meaning('"operator" uses your own configuration of the agent, "own" a separate one'),
    "harness.<name>.turns_max": Meaning("turns in one session, where the agent can count them"),
    "harness.<name>.cost_usd_max": Meaning("dollars in one session, where the agent reports its cost", "none"),
    "harness.<name>.script": Meaning("the script of the scripted agent"),
}
