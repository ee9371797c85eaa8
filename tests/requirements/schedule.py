"""Scheduling, restarts, sleeping machines and resources: what must hold of when things happen."""

from requirements.row import held, open_row

SCHEDULE = (
    held(
        "H01",
        "What is accepted has an effect and outlives the loop.",
        "test_h01_a_key_without_effect_is_refused_instead_of_accepted",
        "test_h01_what_is_put_off_is_in_the_store_and_outlives_every_loop",
    ),
    held(
        "H02",
        "The loop itself keeps the time, with nobody at a screen.",
        "test_idle_loop_takes_up_what_is_added_promoted_answered_or_resumed",
        "test_the_next_look_is_at_the_earliest_of_all_times",
        "test_an_idle_driver_polls_on_and_reacts_to_new_work",
    ),
    held(
        "H03",
        "What was missed is done once.",
        "test_h03_a_window_that_began_while_nothing_ran_is_used_for_what_is_left_of_it",
        "test_h03_what_came_due_many_times_over_while_nothing_ran_is_done_once",
        note="once is the only policy: there are no schedules that repeat, hence nothing to skip or to do many times",
    ),
    held(
        "H05",
        "A machine that slept is noticed, and deadlines are met by the clock on the wall.",
        "test_h05_a_clock_that_jumps_over_a_reset_lets_work_go_on_at_once",
        "test_h05_a_sleep_and_a_moved_clock_are_told_with_their_length",
        "test_h05_five_minutes_are_told_and_less_is_not",
        "test_loop_that_slept_past_a_deadline_gives_the_agent_its_time_anew",
        "test_session_of_a_loop_that_could_not_run_for_a_while_is_not_hung",
        "test_the_machine_is_held_inside_the_block_and_let_go_after_it",
    ),
    held(
        "H06",
        "What decides about leases is the store's clock alone.",
        "test_a_store_keeps_its_promise",
        "test_wall_clock_that_jumps_ends_no_session",
        "test_a_night_ends_with_everything_over_or_waiting_for_something",
        note="SQLite's is its machine's; one clock for several machines needs the PostgreSQL store",
    ),
    open_row(
        "H07",
        "One session cannot eat the machine.",
        "no bound is built: a limit on addresses would end the agents themselves, which reserve more than they use, "
        "one on processor time counts per process and not per tree, and a control group needs a right that the loop "
        "does not have everywhere",
    ),
    held(
        "H09",
        "A project has one loop at a time, and a dead one's place is free.",
        "test_second_loop_is_refused_and_told_which_one_runs",
        "test_a_lock_of_a_killed_loop_is_free_at_once",
        "test_a_loop_over_several_is_refused_while_one_of_them_is_driven",
    ),
    held(
        "H10",
        "Sessions are bounded for a loop, a project and the whole machine.",
        "test_a_full_loop_or_host_starts_nothing_and_says_so",
        "test_loops_that_start_together_share_the_places",
        "test_no_more_places_are_taken_than_allowed_and_a_freed_one_is_taken_again",
    ),
    held(
        "H11",
        "Nobody starves: projects take turns, and waiting items rise.",
        "test_no_target_waits_for_more_than_one_session_of_each_other",
        "test_every_target_is_served_or_told_why_not",
        "test_h11_an_item_that_waits_long_enough_comes_before_any_newer_one",
    ),
    held(
        "H13",
        "What lies outside of the work tree is leased like the item.",
        "test_b09_a_lane_is_granted_to_one",
        "test_a_lane_is_taken_recorded_cleaned_and_given_back",
        "test_two_items_that_need_the_lane_never_have_it_at_once",
        "test_preview_serves_the_checkout_of_the_claim_and_no_other",
        "test_next_owner_has_a_clean_browser_and_the_foreign_tabs_live",
    ),
    held(
        "H14",
        "A shared resource is given out by the store, not by looking whether it is free.",
        "test_b09_a_lane_is_granted_to_one",
        "test_random_schedules_of_six_processes_keep_every_promise",
        "test_fifty_at_once_get_fifty_ports_and_each_its_own_again",
    ),
)
