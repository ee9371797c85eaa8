"""Hand-off and going on: what must hold between one session and the next."""

from requirements.row import held

HANDING_ON = (
    held(
        "L01",
        "A successor is asked for by one marker line, under guards that refuse by name.",
        "test_l01_a_hand_off_is_followed_only_when_every_guard_agrees",
        "test_l01_a_marker_that_is_indented_quoted_inside_a_line_or_in_code_is_none",
        "test_l01_a_prompt_of_4096_bytes_passes_and_one_byte_more_is_refused_never_cut",
        "test_l01_an_empty_hand_off_is_refused",
        "test_l01_every_guard_refuses_by_its_own_name",
        "test_l01_hand_off_after_the_claim_was_settled_is_none",
        "test_l01_hand_off_is_not_followed_while_the_loop_ends",
        "test_l01_hand_off_of_a_session_that_did_not_end_well_is_not_even_read",
        "test_l01_refused_hand_off_is_told_and_the_usual_way_is_gone",
        "test_l01_session_is_followed_by_the_successor_it_asked_for",
        "test_l01_the_last_marker_line_outside_code_begins_the_prompt",
        "test_l01_three_hand_offs_in_a_row_pass_and_the_fourth_does_not",
        "test_l01_three_in_a_row_are_followed_and_the_fourth_is_refused_by_name",
        note="the guard on budgets is there, and no budget but sessions and time is",
    ),
    held(
        "L02",
        "The author does not frame the reviewer.",
        "test_reviewers_brief_contains_nothing_that_its_predecessor_said",
        "test_what_a_file_cannot_mean_is_refused_by_its_path",
        "test_e13_a_verifier_is_told_nothing_of_the_builders_story",
    ),
    held(
        "L03",
        "Where the work stands is kept however its claim ended.",
        "test_l03_where_the_work_stands_is_kept_however_the_claim_ends",
        note="branch and commit are kept; pull requests do not exist here",
    ),
    held(
        "L05",
        "An attempt's record says all that going on with it needs.",
        "test_c17_l05_a_sessions_last_words_and_all_that_resumes_it_are_told",
        "test_c18_l05_a_crash_is_an_outcome_and_its_record_says_all_that_is_needed",
        "test_limited_session_is_gone_on_with_after_the_reset_in_the_same_tree",
    ),
    held(
        "L06", "The brief names the verbs that end the work.", "test_l06_brief_lists_the_exact_verbs_that_end_the_work"
    ),
    held(
        "L07",
        "A conversation is found by the id that the loop recorded, in the tree where it began.",
        "test_limited_session_is_gone_on_with_after_the_reset_in_the_same_tree",
        "test_loop_that_was_killed_leaves_enough_to_go_on_by_session_id_in_the_same_tree",
        "test_new_session_gets_our_id_and_a_resumed_one_keeps_its_own",
    ),
    held(
        "L09",
        "Another agent can go on from what is on the branch.",
        "test_another_account_begins_with_the_brief_in_the_tree_that_was_left",
        "test_another_agent_goes_on_at_once_and_the_first_comes_back_after_its_reset",
        note="it gets the contract, the tree and the host's advice; notes of the first one do not travel",
    ),
)
