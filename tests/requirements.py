"""Reported failures of systems like this one, by id, with the tests that hold each or the reason why none does."""

from typing import NamedTuple


class Requirement(NamedTuple):
    """One kind of failure: what must be true instead, the tests that hold it, and what is left open."""

    id: str
    sentence: str
    tests: tuple[str, ...] = ()
    note: str = ""


def held(number: str, sentence: str, *tests: str, note: str = "") -> Requirement:
    """Return a row that tests hold."""
    return Requirement(number, sentence, tests, note)


def open_row(number: str, sentence: str, note: str) -> Requirement:
    """Return a row without tests, with the reason."""
    return Requirement(number, sentence, (), note)


CLAIMS = (
    held("A01", "Of many who claim one item one wins, the others learn who.", "test_a01_one_of_32_claimers_wins"),
    held(
        "A02",
        "Two processes drain a queue without doing an entry twice.",
        "test_a02_two_processes_drain_a_thousand_items_without_a_duplicate",
    ),
    held(
        "A03",
        "A claim is whole or nothing, and contention is refused at once.",
        "test_a03_a_held_item_is_refused_at_once_naming_its_holder",
        "test_a_fault_at_any_call_leaves_a_whole_claim_or_none",
        note="no export or hook runs inside a claim; feeds read what was committed",
    ),
    held("A05", "Liveness belongs to the attempt.", "test_a05_a_fresh_claim_does_not_inherit_an_old_beat"),
    held(
        "A06",
        "A reclaimed worker is stopped with all its descendants, and its late writes are refused.",
        "test_agent_deaf_to_polite_signals_dies_with_its_grandchild_in_another_session",
        "test_a07_a_late_write_of_an_old_fence_changes_nothing",
        "test_superseded_item_loses_its_session_at_once_and_the_loop_goes_on",
    ),
    held(
        "A07",
        "Every write carries a fence, and a stale one changes nothing.",
        "test_a07_a_late_write_of_an_old_fence_changes_nothing",
        note="no cool-down after a lapse: the expiries ceiling bounds a broken path",
    ),
    held(
        "A09",
        "Recovery repeats, is compare-and-set, and survives a transient error.",
        "test_a09_a_sweep_that_fails_leaves_the_item_for_the_next_one",
    ),
    held(
        "A10",
        "The lease is on the item; a reused worker name hides nothing.",
        "test_a10_a_restarted_worker_of_the_same_name_does_not_hide_a_lapsed_claim",
    ),
    held("A11", "Recovery needs no daemon.", "test_a11_a_claim_recovers_lapsed_items_without_any_sweeper"),
    held(
        "A13",
        "A missed beat is made up at once.",
        "test_a13_rhythm_does_not_drift_however_long_each_beat_takes",
        "test_a13_beat_missed_by_a_blocked_loop_happens_at_once",
        "test_a13_no_gap_is_longer_than_the_rhythm_or_the_blockage",
    ),
    held(
        "A14",
        "A busy agent stays alive in the queue.",
        "test_busy_or_silent_session_keeps_its_lease_for_as_long_as_it_lives",
    ),
    held("A15", "Slots are the live claims.", "test_a15_slots_are_the_live_claims_and_never_leak"),
    held("A17", "Silent holders are seen.", "test_a17_status_shows_how_long_a_holder_has_been_silent"),
    held(
        "A18",
        "Every end of an attempt clears its ownership in one transaction.",
        "test_a18_every_end_of_a_claim_frees_item_slot_executor_and_lane",
    ),
    held(
        "A19",
        "Nothing is locked before it starts, and a start that does not come frees the item.",
        "test_a19_a_claim_that_never_starts_is_free_after_its_short_lease",
    ),
    held(
        "A21",
        "A process is known by more than its number before it is signalled.",
        "test_number_that_now_belongs_to_another_process_is_not_killed",
        "test_file_of_an_earlier_boot_kills_nobody",
        note="host identity across machines belongs to the fleet",
    ),
    held(
        "A22",
        "A silent agent is not a dead one.",
        "test_busy_or_silent_session_keeps_its_lease_for_as_long_as_it_lives",
        "test_clock_that_ran_out_first_ends_the_session",
    ),
    held("A23", "One item has one live attempt.", "test_a23_one_item_has_one_live_attempt"),
    held(
        "A25",
        "A take-over never overlaps a live owner.",
        "test_a25_an_owner_is_overtaken_only_at_the_end_of_its_lease",
        note="the lease is the grace; there is no second phase",
    ),
    held("A26", "Writers wait for their turn.", "test_a26_sixty_four_concurrent_creates_all_succeed"),
    held("A27", "A key is one item, however many add it at once.", "test_a27_the_same_key_added_at_once_is_one_item"),
    held(
        "A29",
        "Two hosts never take the same item.",
        "test_a29_two_hosts_that_start_together_share_the_items",
        note="two processes on one store; hosts of a fleet and partitions need the PostgreSQL store",
    ),
    held("A30", "A release is compare-and-set.", "test_a30_a_release_does_not_free_what_another_holds_by_now"),
    held(
        "A31",
        "A lease is a constraint of the store and is wired.",
        "test_a31_an_item_in_progress_without_a_lease_cannot_be_stored",
        "test_processes_killed_in_a_burst_leave_nothing_half_done",
    ),
    held(
        "A33",
        "An outcome whose answer was lost is sent again without harm.",
        "test_a33_an_answer_lost_on_the_way_is_had_again",
        note="keeping it locally until acknowledged is the client's",
    ),
    held(
        "A34",
        "A replay is bound to its attempt.",
        "test_a34_a_repeated_settle_never_reaches_the_next_owner",
    ),
    held(
        "A35",
        "A restarted loop leaves no session without an owner.",
        "test_child_dies_with_a_loop_that_was_killed",
        "test_next_loop_ends_what_a_killed_loop_left",
        "test_killed_loop_takes_its_agent_along_and_the_next_one_finishes_at_once",
        "test_check_of_a_killed_loop_is_ended_by_the_next_one",
    ),
    held(
        "A37",
        "A lost attempt is on record, and the next is a new one.",
        "test_a37_a_lost_attempt_stays_on_record_and_the_next_is_a_new_one",
        "test_a37_next_attempt_is_told_that_effects_of_an_earlier_one_may_exist",
    ),
    held("A38", "Of many who resume one does.", "test_a38_sixteen_concurrent_answers_resume_once"),
    held(
        "A39",
        "Work goes to those who can do it.",
        "test_a39_a_claim_takes_only_what_its_tools_suffice_for",
        note="excluding a class of holders after refusals is not built: a boundary or a brake parks the item",
    ),
)

STORAGE = (
    held("B01", "The journal mode is set once.", "test_opening_and_closing_beside_writers_harms_nothing"),
    held("B02", "Opening never replaces the file.", "test_opening_again_never_replaces_the_file"),
    held(
        "B03",
        "Many writers are fine, and readers may be read-only.",
        "test_a_herd_of_processes_claims_each_item_once",
        "test_reads_are_served_from_a_store_opened_read_only",
    ),
    held(
        "B05",
        "A damaged file is refused and left alone.",
        "test_a_store_that_cannot_be_trusted_is_refused_and_left_alone",
    ),
    held("B06", "Several owners of a file share it safely.", "test_a_herd_of_processes_claims_each_item_once"),
    held("B07", "Descriptors do not leak.", "test_open_files_stay_flat_over_many_operations"),
    held(
        "B09",
        "An exclusive lane is granted to one.",
        "test_b09_a_lane_is_granted_to_one",
        note="lanes are exact names; there are no patterns that could overlap",
    ),
    held("B10", "A stdio server ends with its client.", "test_it_is_gone_when_its_client_is_killed"),
    held("B11", "No transaction spans a person's thinking.", "test_b11_no_transaction_is_open_between_two_calls"),
    held(
        "B13", "Missing data is an error, not an empty list.", "test_a_missing_store_is_an_error_and_not_an_empty_list"
    ),
    open_row("B14", "Local state is not in shared data.", "nothing of the store is ever committed or synced"),
    open_row("B15", "A plain database is the default.", "by design; scheduled backups are not built"),
    open_row(
        "B17", "Nobody reads a half-made file.", "the database's own transactions; there are no other state files here"
    ),
    held(
        "B18",
        "Each session has its own agent configuration.",
        "test_session_learns_where_the_loop_is_by_private_files",
    ),
    held("B19", "Ids never collide, and keys are unique.", "test_b19_ids_of_one_instant_never_collide"),
    held("B21", "Reads never write.", "test_reads_are_served_from_a_store_opened_read_only"),
    held(
        "B22",
        "A call that is given up holds nothing.",
        "test_calls_run_side_by_side_while_one_waits",
        note="slots of the queue end with the lease; admission of calls is the endpoint's",
    ),
    held(
        "B23",
        "The live file is never opened beside its connections.",
        "test_no_module_of_the_sqlite_store_opens_the_database_file",
    ),
    held("B25", "A store on a network mount is refused.", "test_a_network_mount_is_refused"),
    held(
        "B26", "The log does not grow without bound.", "test_a_long_reader_stops_no_writer_and_the_log_shrinks_after_it"
    ),
    open_row(
        "B27",
        "A log of one's own keeps its promises.",
        "state is in the database; the bench's ledger comes with the bench",
    ),
)

PROOF = (
    held(
        "E01",
        "Nothing made and nothing examined is never a pass.",
        "test_e01_a_branch_with_no_commits_over_its_base_is_reported_empty",
        "test_e01_nothing_examined_is_not_green",
        "test_e01_three_claims_of_success_with_nothing_over_the_base_make_no_candidate",
        "test_lie_is_caught_by_the_host_without_a_session_and_repaired_by_another",
    ),
    held(
        "E02",
        "What is left undone is told with how to finish.",
        "test_e02_a_dirty_tree_is_told_with_how_to_finish",
        "test_e02_work_committed_with_something_left_dirty_stands_and_the_rest_is_told",
        "test_e02_work_on_a_detached_head_of_the_worktree_is_seen",
        "test_e02_work_that_was_not_handed_in_is_neither_lost_nor_done",
    ),
    held(
        "E03",
        "An empty difference is no work.",
        "test_e03_empty_diff_is_reported_although_there_are_commits",
        "test_e03_merging_what_others_landed_is_not_work",
        "test_e03_the_tip_of_the_integration_branch_is_told_as_already_there",
        "test_e03_a_replaced_commit_is_read_as_it_was_made",
        "test_what_is_no_result_is_refused_and_the_worker_still_holds_its_claim",
    ),
    held(
        "E05",
        "Sums are of exact states, and a candidate has one verifier.",
        "test_e05_failures_are_counted_as_failures_and_reviews_are_made_once",
    ),
    held("E06", "The tool's own files are not work.", "test_e06_changes_to_paths_of_the_tool_do_not_count_as_work"),
    held(
        "E07",
        "A refused completion says that the work is still yours.",
        "test_e07_a_refused_completion_says_that_the_work_is_still_yours",
        "test_what_is_no_result_is_refused_and_the_worker_still_holds_its_claim",
    ),
    held(
        "E09",
        "Made-up proof fills nothing.",
        "test_e09_made_up_proof_fills_nothing",
        "test_e09_an_invented_sha_is_unknown",
        note="digests of a worker's artifacts are kept as claimed; the host recomputes none yet",
    ),
    held("E10", "Disagreement is not a pass.", "test_e10_two_receipts_that_disagree_are_not_a_pass"),
    held("E11", "A check must have been seen red.", "test_e11_a_check_that_cannot_fail_is_vacuous"),
    held(
        "E13",
        "A verifier hears nothing of the builder's story.",
        "test_e13_a_verifier_is_told_nothing_of_the_builders_story",
        "test_lie_is_caught_by_the_host_without_a_session_and_repaired_by_another",
        "test_e13_brief_holds_the_contract_and_nothing_that_a_session_said_or_printed",
    ),
    held("E14", "Inconclusive closes nothing.", "test_e14_inconclusive_closes_nothing"),
    held(
        "E15",
        "Silence is not green.",
        "test_e15_a_stale_or_foreign_commit_does_not_pass_for_this_attempt",
        note="roll-ups of pull requests come with landing by pull request",
    ),
    held(
        "E17",
        "What is documented is executed.",
        "test_host_verification_alone_spends_no_session_on_the_verdict",
        "test_an_item_goes_from_its_title_to_a_verified_result",
    ),
    held(
        "E18",
        "A verdict counts for its own commit.",
        "test_e18_a_verdict_counts_for_its_own_commit_only",
        "test_e15_a_stale_or_foreign_commit_does_not_pass_for_this_attempt",
    ),
    held(
        "E19",
        "Landed is what the branch contains.",
        "test_e19_landed_is_a_fact_of_its_own_and_not_an_intent",
        "test_e19_landed_means_that_the_branch_contains_the_commit",
    ),
    held(
        "E21",
        "Red after landing makes new work.",
        "test_e21_red_after_landing_makes_one_linked_successor",
        "test_e21_guards_see_the_merge_result_and_red_ones_stop_it",
        note="watching the branch after landing is not built",
    ),
)

SURFACES = (
    held("J01", "A worker's tool is one and small.", "test_a_worker_pays_at_most_700_tokens_for_the_tool"),
    held("J02", "Lists are short and say how to go on.", "test_j02_a_long_list_is_cut_with_counts_and_a_way_on"),
    held(
        "J03",
        "A call that was cut can be repeated.",
        "test_j03_a_cut_claim_is_repeated_with_its_request_id",
        "test_a_repeated_claim_returns_the_same_claim",
    ),
    held("J05", "A schema is one that every provider takes.", "test_the_schema_uses_only_what_every_provider_takes"),
    held("J06", "An ordinary chat carries no worker tools.", "test_an_ordinary_chat_has_no_worker_tools"),
)

REQUIREMENTS = (*CLAIMS, *STORAGE, *PROOF, *SURFACES)
