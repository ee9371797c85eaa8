-- name: decision_before
-- Find the newest decision about exactly this subject.
SELECT * FROM decision WHERE kind = ? AND name = ? AND target = ? ORDER BY number DESC LIMIT 1;

-- name: decisions_about
-- List the newest decisions about a subject, of any target where none is named.
SELECT * FROM decision
WHERE kind = ?1 AND name = ?2 AND (?3 = '' OR target = ?3)
ORDER BY number DESC LIMIT ?4;

-- name: decisions_on_item
-- List the newest decisions that started something for an item.
SELECT * FROM decision WHERE item = ?1 AND item <> '' ORDER BY number DESC LIMIT ?2;

-- name: decisions
-- List the newest decisions about everything.
SELECT * FROM decision ORDER BY number DESC LIMIT ?;

-- name: decision_insert
-- Keep a decision that differs from the last about its subject.
INSERT INTO decision (
    kind, name, target, verb, code, message, unblock, wakes_at, item, session, first_at, last_at, times
) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, 1);

-- name: decision_repeat
-- Count a decision that says what the last about its subject said.
UPDATE decision SET times = times + 1, last_at = ?, message = ?, wakes_at = ? WHERE number = ?;

-- name: decisions_prune
-- Forget all but the newest decisions; the last about each subject stays.
DELETE FROM decision
WHERE number <= (SELECT max(number) FROM decision) - ?
    AND number NOT IN (SELECT max(number) FROM decision WHERE kind <> 'item' GROUP BY kind, name, target);

-- name: gates
-- List all gates by key.
SELECT * FROM gate ORDER BY harness, account, tier;

-- name: gate_put
-- Write where a gate stands now.
INSERT OR REPLACE INTO gate VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: targets
-- List all targets by name.
SELECT * FROM target ORDER BY name;

-- name: target_put
-- Write where a target stands now.
INSERT OR REPLACE INTO target VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: session_get
-- Find one session.
SELECT * FROM session WHERE session_id = ?;

-- name: sessions_like
-- List the sessions whose id lies between two texts, newest first.
SELECT * FROM session WHERE session_id >= ? AND session_id < ? ORDER BY number DESC LIMIT ?;

-- name: sessions
-- List the newest sessions.
SELECT * FROM session ORDER BY number DESC LIMIT ?;

-- name: sessions_of_target
-- List the newest sessions of a target.
SELECT * FROM session WHERE target = ? ORDER BY number DESC LIMIT ?;

-- name: sessions_of_item
-- List the newest sessions of an item.
SELECT * FROM session WHERE item_key = ? ORDER BY number DESC LIMIT ?;

-- name: sessions_of_both
-- List the newest sessions of an item in a target.
SELECT * FROM session WHERE item_key = ? AND target = ? ORDER BY number DESC LIMIT ?;

-- name: session_put
-- Write a session, new or known.
INSERT INTO session (
    session_id, target, harness, began_at, run, item_key, item_id, fence, role, phase, probe, account, tier,
    model, version, resume_id, resumes, cwd, base_sha, log_path, ended_at, session_class, settled, acted,
    produced, guessed, exit_code, signal, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write,
    usage_reported, cost_micros, reset_at, final_text, detail
) VALUES (
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?
) ON CONFLICT (session_id) DO UPDATE SET
    target = excluded.target, harness = excluded.harness, began_at = excluded.began_at, run = excluded.run,
    item_key = excluded.item_key, item_id = excluded.item_id, fence = excluded.fence, role = excluded.role,
    phase = excluded.phase, probe = excluded.probe, account = excluded.account, tier = excluded.tier,
    model = excluded.model, version = excluded.version, resume_id = excluded.resume_id,
    resumes = excluded.resumes, cwd = excluded.cwd, base_sha = excluded.base_sha,
    log_path = excluded.log_path, ended_at = excluded.ended_at, session_class = excluded.session_class,
    settled = excluded.settled, acted = excluded.acted, produced = excluded.produced,
    guessed = excluded.guessed, exit_code = excluded.exit_code, signal = excluded.signal,
    tokens_input = excluded.tokens_input, tokens_output = excluded.tokens_output,
    tokens_cache_read = excluded.tokens_cache_read, tokens_cache_write = excluded.tokens_cache_write,
    usage_reported = excluded.usage_reported, cost_micros = excluded.cost_micros,
    reset_at = excluded.reset_at, final_text = excluded.final_text, detail = excluded.detail;

-- name: sessions_open
-- List the sessions without an end, oldest first.
SELECT * FROM session WHERE ended_at IS NULL ORDER BY number;

-- name: sessions_prune
-- Forget all but the newest sessions that have ended.
DELETE FROM session WHERE number <= (SELECT max(number) FROM session) - ? AND ended_at IS NOT NULL;

-- name: runs
-- List the newest runs.
SELECT * FROM run ORDER BY number DESC LIMIT ?;

-- name: run_begin
-- Open a run.
INSERT INTO run (pid, host, version, began_at, reason, detail) VALUES (?, ?, ?, ?, '', '') RETURNING number;

-- name: run_end
-- Write why a run ended, once.
UPDATE run SET ended_at = ?, reason = ?, detail = ? WHERE number = ? AND ended_at IS NULL;

-- name: runs_prune
-- Forget all but the newest runs.
DELETE FROM run WHERE number <= (SELECT max(number) FROM run) - ?;
