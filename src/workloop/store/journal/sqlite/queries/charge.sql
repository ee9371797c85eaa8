-- name: charge_put
-- Write what a session may cost or did, new or known.
INSERT INTO charge (
    session_id, began_at, run, target, campaign, harness, root, item_key, role, phase, account, model, probe, state,
    reserved, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write, cost_micros, wall_us, sessions,
    priced, source, ended_at, brought
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id) DO UPDATE SET
    began_at = excluded.began_at, run = excluded.run, target = excluded.target, campaign = excluded.campaign,
    harness = excluded.harness, root = excluded.root, item_key = excluded.item_key, role = excluded.role,
    phase = excluded.phase, account = excluded.account, model = excluded.model, probe = excluded.probe,
    state = excluded.state, reserved = excluded.reserved, tokens_input = excluded.tokens_input,
    tokens_output = excluded.tokens_output, tokens_cache_read = excluded.tokens_cache_read,
    tokens_cache_write = excluded.tokens_cache_write, cost_micros = excluded.cost_micros,
    wall_us = excluded.wall_us, sessions = excluded.sessions, priced = excluded.priced, source = excluded.source,
    ended_at = excluded.ended_at, brought = excluded.brought;

-- name: charges
-- List what sessions that began since then cost, newest first.
SELECT * FROM charge WHERE began_at >= ? ORDER BY number DESC LIMIT ?;

-- name: charges_open
-- List what is set aside and not settled, oldest first.
SELECT * FROM charge WHERE state = 'reserved' ORDER BY number;

-- name: charge_get
-- Find what one session cost.
SELECT * FROM charge WHERE session_id = ?;

-- name: charge_totals
-- Add up what is settled, by the names of one scope.
SELECT
    CASE ?1
        WHEN 'campaign' THEN target || '/' || campaign
        WHEN 'target' THEN target
        WHEN 'harness' THEN harness
        WHEN 'item' THEN iif(root = '', '', target || '/' || root)
        ELSE ''
    END AS name,
    sum(tokens_input), sum(tokens_output), sum(tokens_cache_read), sum(tokens_cache_write), sum(cost_micros),
    sum(wall_us), sum(sessions)
FROM charge WHERE began_at >= ?2 AND run >= ?3 AND state <> 'reserved' GROUP BY name;
