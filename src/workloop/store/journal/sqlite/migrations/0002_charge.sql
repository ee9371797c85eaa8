-- phase: before-code
-- What each session may cost while it runs, and did; one row a session, never dropped.
-- `reserved` is a JSON object of units, an empty `campaign` or `root` is not known.

CREATE TABLE charge (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL UNIQUE,
    began_at INTEGER NOT NULL,
    run INTEGER NOT NULL,
    target TEXT NOT NULL,
    campaign TEXT NOT NULL,
    harness TEXT NOT NULL,
    root TEXT NOT NULL,
    item_key TEXT NOT NULL,
    role TEXT NOT NULL,
    phase TEXT NOT NULL,
    account TEXT NOT NULL,
    model TEXT NOT NULL,
    probe INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'unknown')),
    reserved TEXT NOT NULL,
    tokens_input INTEGER NOT NULL,
    tokens_output INTEGER NOT NULL,
    tokens_cache_read INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL,
    wall_us INTEGER NOT NULL,
    sessions INTEGER NOT NULL,
    priced INTEGER NOT NULL,
    source TEXT NOT NULL,
    ended_at INTEGER,
    brought TEXT
) STRICT;

CREATE INDEX charge_by_time ON charge (began_at);
CREATE INDEX charge_open ON charge (number) WHERE state = 'reserved';

INSERT INTO charge (
    session_id, began_at, run, target, campaign, harness, root, item_key, role, phase, account, model, probe, state,
    reserved, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, cost_micros, wall_us, sessions,
    priced, source, ended_at, brought
)
SELECT
    session_id, began_at, run, target, '', harness,
    CASE WHEN instr(item_key, '~') > 0 THEN substr(item_key, 1, instr(item_key, '~') - 1) ELSE item_key END,
    item_key, role, phase, account, model, probe, 'settled', '{}',
    tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, coalesce(cost_micros, 0),
    max(0, ended_at - began_at), CASE WHEN probe = 1 THEN 0 ELSE 1 END, cost_micros IS NOT NULL, 'report', ended_at,
    CASE WHEN settled IN ('complete', 'defer') THEN 'fruitful' WHEN settled = 'retry' THEN 'fruitless' END
FROM session WHERE ended_at IS NOT NULL ORDER BY number;
