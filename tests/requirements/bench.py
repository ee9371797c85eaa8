"""The repair bench: what must hold of a harness that is repaired without anybody watching."""

from requirements.row import held

BENCH = (
    held(
        "M03",
        "Config, driver, ledger and evidence lie where no worker can reach them, by no name, link or mount.",
        "test_what_lies_in_a_workers_folder_is_refused_however_it_is_written",
        "test_the_same_folder_mounted_at_another_place_is_the_same_folder",
        "test_a_ledger_in_a_workers_reach_is_refused",
        note="checked before a run begins, by the folders that the driver names; the driver itself is trusted",
    ),
    held(
        "M07",
        "A repair is for one observation that the host confirmed; its reproducer fails before and passes after.",
        "test_an_observation_that_is_not_confirmed_begins_no_repair",
        "test_nothing_is_confirmed_without_a_reproducer",
        "test_a_repair_that_is_not_proved_reaches_no_worker",
        "test_a_reproducer_that_passes_before_is_vacuous_and_the_candidate_is_not_run",
        "test_a_reproducer_that_sometimes_passes_is_flaky_on_either_side_with_counts",
    ),
)
