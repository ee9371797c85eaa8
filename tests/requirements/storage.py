"""The store and its file: what must hold of everything that is written down."""

from requirements.row import held, open_row

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
