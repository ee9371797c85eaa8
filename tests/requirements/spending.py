"""Cost and budgets: what must hold of what sessions spend, and of the ceilings on it."""

from requirements.row import held

SPENDING = (
    held(
        "G01",
        "Every bucket of tokens is counted, and the price is the provider's where it says one.",
        "test_g06_new_tokens_and_those_read_from_a_cache_are_counted_apart",
        "test_tokens_without_a_price_are_priced_by_the_list",
        note="per session, not per model of a session: what the agent reports is its sum",
    ),
    held(
        "G02",
        "What is read from a cache and written into it is billed.",
        "test_g06_new_tokens_and_those_read_from_a_cache_are_counted_apart",
        "test_g15_costs_are_added_up_by_what_is_asked_for",
    ),
    held(
        "G03",
        "Tokens of helpers are part of a session's figure, in the scope of its cost.",
        "test_g03_the_tokens_of_helpers_count_where_usage_speaks_of_the_main_conversation_only",
        "test_agent_works_through_the_meter_which_counts_what_it_counts",
        note="a report without figures by model is taken as it is and not marked as partial",
    ),
    held(
        "G05",
        "A running total is counted against what was last seen of its own conversation, once.",
        "test_g05_a_report_of_total_and_last_counts_once_and_each_thread_against_its_own_total",
        "test_c21_first_total_after_a_resume_is_the_baseline",
        "test_c21_total_that_falls_adds_nothing_and_the_next_is_not_counted_twice",
        "test_recorded_codex_session_adds_up_to_its_own_totals",
    ),
    held(
        "G06",
        "A ceiling on tokens leaves out those read from a cache, which have one of their own.",
        "test_g06_new_tokens_and_those_read_from_a_cache_are_counted_apart",
        "test_every_scope_and_every_unit_has_a_ceiling_named_by_its_key",
    ),
    held(
        "G07",
        "A spend that cannot be measured stops the run under a ceiling; a ceiling that counts nothing is named inert.",
        "test_g07_output_that_was_lost_cannot_be_measured_and_silence_costs_nothing",
        "test_g07_a_ceiling_that_can_hold_nothing_is_named_inert",
        "test_g07_an_agent_that_tells_no_price_is_named_where_money_is_held",
    ),
    held(
        "G09",
        "An error names the ceiling, its unit, what is used of it and the key to raise.",
        "test_g09_a_ceiling_without_room_names_itself_its_unit_what_is_used_and_the_knob",
        "test_g09_a_call_past_the_allowance_is_refused_with_limit_unit_use_and_knob",
    ),
    held(
        "G10",
        "Money and tokens are held at once, whichever is reached first.",
        "test_g10_whichever_ceiling_is_reached_first_holds",
    ),
    held(
        "G11",
        "What is set aside before a session is settled after it, by whoever comes back; unknown is never nothing.",
        "test_g11_what_nobody_can_tell_is_booked_at_what_was_set_aside",
        "test_g11_only_what_a_ceiling_is_set_on_must_be_known",
        "test_what_a_killed_loop_set_aside_is_settled_from_what_is_kept_or_is_unknown",
        "test_no_ceiling_is_passed_by_more_than_one_sessions_reserve",
    ),
    held(
        "G13",
        "A hold either resets at a time that it names, or needs a person, and says which.",
        "test_g13_a_hold_ends_by_itself_or_needs_a_person_and_says_which",
        "test_g13_a_day_that_is_used_up_is_waited_for_and_names_when_it_resets",
        "test_g13_a_new_day_has_its_budget_anew_and_a_clock_moved_back_gives_none",
    ),
    held(
        "G14",
        "The share of what was read again is shown, and rounds have a ceiling.",
        "test_g15_costs_are_added_up_by_what_is_asked_for",
    ),
    held(
        "G15",
        "There are hard caps by day and by item, costs by item, and an estimate before anything is spent.",
        "test_g15_costs_are_added_up_by_what_is_asked_for",
        "test_a_forecast_is_drawn_from_what_finished_items_cost",
        "test_an_item_is_a_root_with_all_its_follow_ups",
        note="no cap by month",
    ),
)
