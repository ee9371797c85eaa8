"""Security: what must hold of texts that nobody vouches for, of secrets and of doors."""

from requirements.row import held

SECRETS = (
    held(
        "N01",
        "An item's text is quoted as data, and what strangers file waits for a person.",
        "test_n01_items_text_is_data_between_marks_that_it_cannot_forge",
        "test_strangers_tasks_only_propose",
        "test_places_that_sessions_could_write_are_refused",
    ),
    held(
        "N02",
        "A child sees named variables alone, and no log shows a secret.",
        "test_n02_a_check_sees_only_allowed_variables_and_never_a_secret",
        "test_n02_a_child_sees_the_usual_variables_and_the_named_ones_alone",
        "test_n02_a_secret_is_taken_out_of_names_and_values_however_deep",
        "test_n02_a_secret_of_several_lines_is_found_whole_encoded_and_line_by_line",
        "test_n02_a_text_that_looks_like_a_key_is_taken_out_though_nobody_named_it",
        "test_n02_a_value_from_a_file_is_taken_only_from_one_for_its_owner_s_eyes",
        "test_n02_every_secret_that_the_loop_knows_is_told_to_what_cleans_its_logs",
        "test_n02_n03_a_secret_reaches_the_agent_whole_and_no_line_of_what_the_loop_tells",
        "test_n02_what_follows_bearer_or_stands_before_a_host_is_taken_out",
        note="the kept raw stream of a session, in the private folder, is as it was printed",
    ),
    held(
        "N03",
        "Cleaning touches what is told, never what an agent is given or writes.",
        "test_n02_n03_a_secret_reaches_the_agent_whole_and_no_line_of_what_the_loop_tells",
        "test_n03_ordinary_words_and_code_stay_as_they_are",
    ),
    held(
        "N05",
        "The endpoint answers on loopback, to a known token, and to no foreign page.",
        "test_without_a_known_token_nothing_is_answered",
        "test_a_name_that_was_bound_to_loopback_from_outside_is_refused",
        "test_a_web_page_of_another_origin_is_refused",
        note="there are no web pages yet, and no way to bind to anything but loopback",
    ),
)
