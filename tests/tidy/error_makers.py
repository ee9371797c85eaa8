"""Which functions make errors from a code, by the class of what they make, and codes that no call shows."""

HELPERS = {
    "bad": "BadRequest",
    "optional_whole": "BadRequest",
    "unknown_name": "BadRequest",
    "no_observation": "EvidenceRejected",
    "refuse": "StoreUnavailable",
    "busy": "StoreUnavailable",
    "reason": "reason",
}
KNOWN_OTHERWISE = {
    "LEASE_LOST": "LeaseLost",
    "ALREADY_SETTLED": "LeaseLost",
    "BAD_REQUEST": "BadRequest",
    "BAD_PRIORITY": "BadRequest",
}
