"""The surfaces of agents: what must hold of the tool that they are given."""

from requirements.row import held

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
