"""False "done" and verification that cannot fail: what must hold before anything counts as proved."""

from requirements.row import held

DONE = (
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
