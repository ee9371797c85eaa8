-- phase: before-code
-- Instants are microseconds since the epoch, durations microseconds, booleans 0 or 1.
-- The columns of a table stand in the order of the fields of its dataclass.

CREATE TABLE decision (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    verb TEXT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    unblock TEXT NOT NULL,
    wakes_at INTEGER,
    item TEXT NOT NULL,
    session TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    times INTEGER NOT NULL CHECK (times >= 1)
) STRICT;

CREATE INDEX decision_by_subject ON decision (kind, name, number);
CREATE INDEX decision_by_item ON decision (item, number) WHERE item <> '';

CREATE TABLE gate (
    harness TEXT NOT NULL,
    account TEXT NOT NULL,
    tier TEXT NOT NULL,
    state TEXT NOT NULL,
    cause TEXT,
    until INTEGER,
    source TEXT,
    since INTEGER,
    try_at INTEGER,
    probes INTEGER NOT NULL,
    last_probe INTEGER,
    openings INTEGER NOT NULL,
    silent INTEGER NOT NULL,
    transients INTEGER NOT NULL,
    guesses INTEGER NOT NULL,
    remedy TEXT NOT NULL,
    detail TEXT NOT NULL,
    question TEXT NOT NULL,
    PRIMARY KEY (harness, account, tier)
) STRICT, WITHOUT ROWID;

CREATE TABLE target (
    name TEXT PRIMARY KEY,
    fruitless INTEGER NOT NULL,
    not_before INTEGER,
    paused INTEGER NOT NULL,
    pause_reason TEXT NOT NULL,
    paused_until INTEGER,
    served_at INTEGER,
    question TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    target TEXT NOT NULL,
    harness TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    run INTEGER NOT NULL,
    item_key TEXT NOT NULL,
    item_id TEXT NOT NULL,
    fence INTEGER,
    role TEXT NOT NULL,
    phase TEXT NOT NULL,
    probe INTEGER NOT NULL,
    account TEXT NOT NULL,
    tier TEXT NOT NULL,
    model TEXT NOT NULL,
    version TEXT NOT NULL,
    resume_id TEXT NOT NULL,
    resumes TEXT NOT NULL,
    cwd TEXT NOT NULL,
    base_sha TEXT NOT NULL,
    log_path TEXT NOT NULL,
    ended_at INTEGER,
    session_class TEXT,
    settled TEXT NOT NULL,
    acted INTEGER NOT NULL,
    produced INTEGER NOT NULL,
    guessed INTEGER NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    tokens_input INTEGER NOT NULL,
    tokens_output INTEGER NOT NULL,
    tokens_cache_read INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL,
    usage_reported INTEGER NOT NULL,
    cost_micros INTEGER,
    reset_at INTEGER,
    final_text TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

CREATE INDEX session_by_target ON session (target, number);
CREATE INDEX session_by_item ON session (item_key, number);
CREATE INDEX session_open ON session (number) WHERE ended_at IS NULL;

CREATE TABLE run (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    version TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    ended_at INTEGER,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
