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
    "campaign.landing": Meaning(
        'what becomes of verified work: "none", "local-merge" into the branch here, "push" to a remote\'s, or "pr"',
        '"none"',
    ),
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
    "sandbox.kind": Meaning(
        'walls around sessions and checks: "auto" where they work, "bwrap" or no run at all, "none"'
    ),
    "sandbox.network": Meaning('what sessions reach: "open", "loopback" (this loop and `sandbox.ports`), "none"'),
    "sandbox.checks_network": Meaning("the same for checks"),
    "sandbox.readable": Meaning("places of your home, such as tool chains, that sessions and checks may read"),
    "sandbox.hidden": Meaning("further places that they must not see"),
    "disk.free_bytes_min": Meaning("below so much free room no session begins; 0 is no bound"),
    "disk.trees_bytes_max": Meaning("above so much in all trees together no session begins; 0 is no bound"),
    "disk.trees_days": Meaning("trees that hold nothing any more go after so many days"),
    "disk.trees_max": Meaning("more than so many of them go, the oldest first"),
    "disk.outputs": Meaning("folders that builds fill, by name or by path, for `workloop gc --outputs`"),
    "sandbox.ports": Meaning("ports of this machine that sessions reach when their network is loopback"),
    "meter.prices": Meaning(
        "a table by model of `input_usd`, `output_usd`, `cache_read_usd`, `cache_write_usd` for a million tokens"
    ),
    "meter.idle_seconds": Meaning("how long a provider may stay silent within a call"),
    "loop.harness": Meaning(
        "the harness of all sessions that no phase gives to another", '"claude", or the only block'
    ),
    "loop.agents": Meaning(
        "harnesses that may do the work instead of each other, the preferred one first: while one is limited or "
        "stopped, the next goes on",
        "`loop.harness` alone",
    ),
    "loop.state_dir": Meaning("the loop's private folder, outside of every work dir", "the project's own"),
    "budget.time_zone": Meaning("in which zone the day of `[budget.day]` begins; the machine's own unless given"),
    "budget.<scope>.input_tokens": Meaning("tokens that are given anew; scopes are in [budgets.md](budgets.md)"),
    "budget.<scope>.output_tokens": Meaning("tokens that the model writes"),
    "budget.<scope>.cache_read_tokens": Meaning("tokens that are read from a cache"),
    "budget.<scope>.cache_write_tokens": Meaning("tokens that are written into a cache"),
    "budget.<scope>.tokens": Meaning("all tokens but those read from a cache"),
    "budget.<scope>.cost_usd": Meaning("money, in dollars"),
    "budget.<scope>.wall_seconds": Meaning("the time that sessions ran, added up"),
    "budget.<scope>.sessions": Meaning("sessions; not in `budget.session` and `budget.reserve`"),
    "budget.<scope>.per": Meaning('of a target or a harness, "run", "day" or "total": over which time', '"run"'),
    "loop.max_iterations": Meaning("sessions after which the loop ends"),
    "loop.run_seconds_max": Meaning("seconds after which the loop ends, earlier when nothing could run before", "none"),
    "loop.idle_poll_interval": Meaning("seconds after which an idle loop looks when nothing tells it to"),
    "loop.sessions_max": Meaning("agent sessions at the same time"),
    "loop.sessions_max_target": Meaning("the same for each project of several"),
    "loop.sessions_max_host": Meaning("the same for all loops of this user on this machine"),
    "loop.active_hours": Meaning(
        'when sessions may start: `["22:00-06:00"]`, `["mon-fri 19:00-07:00", "sat,sun 00:00-24:00"]`'
    ),
    "loop.time_zone": Meaning('the time zone of `active_hours`, such as "Europe/Berlin"', "the machine's"),
    "loop.fruitless_waits": Meaning(
        "how many seconds an item rests after each attempt in a row that brought nothing; after one more it is parked"
    ),
    "loop.on_limit": Meaning(
        'at a usage limit: "wait" for its reset and go on with the rest; "stop" and "ask" close it until a person acts',
        '"wait"',
    ),
    "loop.untested_versions": Meaning(
        'an agent in a version that was not tested: "warn", "refuse" or "allow"', '"warn"'
    ),
    "loop.keep_awake": Meaning("ask the machine not to sleep while the loop runs"),
    "loop.silent_seconds": Meaning("a session without any event for so long is hung"),
    "loop.idle_seconds": Meaning("a session without progress for so long is hung"),
    "loop.wall_seconds": Meaning("a session ends after so long in any case"),
    "loop.kept_days": Meaning("days that the folders of ended sessions are kept"),
    "loop.kept_bytes_max": Meaning("bytes that they take at most; the oldest go first"),
    "loop.environment": Meaning("names of variables that sessions may see beyond PATH, HOME and the locale"),
    "loop.integration_branch": Meaning("the branch that work starts from and lands on; empty for the checked out one"),
    "loop.checks_overlay": Meaning("a folder whose files take the place of a candidate's while checks run"),
    "harness.<name>.kind": Meaning(
        "the agent program: claude, codex, opencode, copilot, qwen, acp, command or scripted", "the block's name"
    ),
    "harness.<name>.account": Meaning("whose usage limits its sessions share; a limit pauses one account only"),
    "harness.<name>.command": Meaning("the program and its first arguments; required for command and acp"),
    "harness.<name>.extra_args": Meaning("further arguments of every session"),
    "harness.<name>.model": Meaning("the model that sessions ask for"),
    "harness.<name>.models": Meaning('a table: the model of each tier that phases name, `{strong = "opus"}`'),
    "harness.<name>.home": Meaning(
        '"operator" uses your own configuration of the agent, "own" a separate one', '"operator"'
    ),
    "harness.<name>.mcp_config": Meaning("a file of MCP servers, in the agent's own form, that its sessions get too"),
    "harness.<name>.turns_max": Meaning("turns in one session, where the agent can count them"),
    "harness.<name>.cost_usd_max": Meaning("dollars in one session, where the agent reports its cost", "none"),
    "harness.<name>.environment": Meaning("names of further variables that this harness's sessions may see"),
    "harness.<name>.variables": Meaning(
        'a table of values that its sessions see; `"@/path"` is read from a file of mode 600'
    ),
    "harness.<name>.options": Meaning(
        "a table of what only one kind knows: claude `permissions` (listed, bypass) and `tools`; codex `mode` "
        "(app-server, exec) and `sandbox`; copilot `denied_tools`; qwen `auth_type` and `excluded_tools`; "
        "acp `model_argument`, `mode`, `read_only_mode` and `login`"
    ),
    "harness.<name>.script": Meaning("the script of the scripted agent"),
    "harness.<name>.meter": Meaning("a table: its model calls go through the loop's meter, see the next four keys"),
    "harness.<name>.meter.key": Meaning(
        'the provider\'s key, as `"@/path"` of a file of mode 600; no session sees it', "none"
    ),
    "harness.<name>.meter.login": Meaning("instead of a key, the agent's own login by subscription goes through"),
    "harness.<name>.meter.anthropic_url": Meaning("the provider that speaks Anthropic's dialect", "Anthropic's own"),
    "harness.<name>.meter.openai_url": Meaning("the provider that speaks OpenAI's dialects", "OpenAI's own"),
    "harness.<name>.readable": Meaning("places that its sessions may read from inside the sandbox, such as settings"),
    "harness.<name>.writable": Meaning("places that they may write as well, such as a login that is renewed"),
    "phase.name": Meaning('the phase\'s name, once; "implement" and "review" have a brief of their own', "required"),
    "phase.harness": Meaning("the harness of its sessions", "the loop's"),
    "phase.tier": Meaning("which of the harness's `models` its sessions ask for"),
    "phase.brief": Meaning("a file with its brief, outside of the repository"),
    "phase.turns_max": Meaning("turns in one of its sessions", "the harness's"),
    "phase.wall_seconds": Meaning("a session of it ends after so long in any case", "the loop's"),
    "phase.handoff": Meaning("whether its session may ask for a successor", "where the agent can"),
    "target.<name>.work_dir": Meaning("the top of the project's repository, set up with `workloop init`", "required"),
    "target.<name>.campaign": Meaning("the campaign that is worked on", "the project's own"),
    "target.<name>.integration_branch": Meaning("as `loop.integration_branch`"),
    "target.<name>.mcp_config": Meaning("a file of MCP servers for the loop's own harness here"),
    "target.<name>.mcp_configs": Meaning("a table: the same for other harnesses, by name"),
    "target.<name>.agents": Meaning("as `loop.agents`, for this project", "the loop's"),
    "target.<name>.active_hours": Meaning("as `loop.active_hours`, for this project"),
    "target.<name>.time_zone": Meaning("as `loop.time_zone`", "the machine's"),
    "target.<name>.sessions_max": Meaning("agent sessions at the same time here"),
    "target.<name>.paused": Meaning("why nothing is handed out here for now"),
    "landing.remote": Meaning("the remote that work lands on with `push` and `pr`, by name or address"),
    "landing.environment": Meaning("variables that git and the commands for pull requests may see"),
    "landing.salvage": Meaning("whether unfinished work is sent to the remote, too, beside its branches"),
    "landing.watch_seconds": Meaning("how long the guards of what landed are run again when the branch moves; 0 never"),
    "landing.watch_every_seconds": Meaning("the least time between two such looks"),
    "landing.pull_requests.find": Meaning("the command that lists a branch's pull requests as JSON", "`gh pr list …`"),
    "landing.pull_requests.open": Meaning("the command that opens one", "`gh pr create …`"),
    "landing.pull_requests.merge": Meaning("the command that merges one, with `auto_merge`", "`gh pr merge …`"),
    "landing.pull_requests.auto_merge": Meaning("whether the loop merges what is ready, after checking the merge"),
    "landing.pull_requests.allow_unchecked": Meaning("whether a pull request without any checks may be merged"),
    "landing.pull_requests.poll_seconds": Meaning("how often a pull request that waits is looked at"),
    "lane.<name>.prepare": Meaning(
        "a command, as a list of arguments, that runs before each grant of the lane", "none"
    ),
    "lane.<name>.start": Meaning("a command that runs along with a grant, in its checkout, and is ended with it"),
    "lane.<name>.health": Meaning("a command that ends with 0 once what `start` runs is of use"),
    "lane.<name>.list": Meaning("a command that prints what is in the lane, a name a line", "none"),
    "lane.<name>.clean": Meaning("a command that closes what the loop names in `WORKLOOP_LANE_FILE`"),
    "lane.<name>.stop": Meaning("a command that runs after the cleaning"),
    "lane.<name>.environment": Meaning("a table of variables that its commands and its sessions see"),
    "lane.<name>.visible": Meaning("names of the loop's variables that its commands may see"),
    "lane.<name>.ports": Meaning(
        "a table of ports by name: a number, or 0 for one of the host's that stays the lane's"
    ),
    "lane.<name>.readable": Meaning("places that its sessions may read from inside the sandbox"),
    "lane.<name>.writable": Meaning("places that they may write as well"),
    "lane.<name>.adopt": Meaning("whether what appeared during a grant counts as recorded, though nobody recorded it"),
    "lane.<name>.command_seconds": Meaning("how long each of its commands may take, but `start`"),
    "lane.<name>.health_seconds": Meaning("how long `health` is asked"),
    "lane.<name>.tries": Meaning("failures in a row after which a person is asked"),
    "tracker.kind": Meaning(
        'another tracker whose backlog the queue is kept in step with, "backlog.md"; beside `[target.*]` the table is '
        "`[target.<name>.tracker]`",
        "required",
    ),
    "tracker.path": Meaning("its folder, meant from the work dir", '"backlog"'),
    "tracker.trusted": Meaning("whether its entries become work at once; otherwise a person promotes each"),
    "tracker.open_status": Meaning("statuses that say that nobody has begun", '`["To Do"]`'),
    "tracker.done": Meaning("the status that says that it is over"),
}
