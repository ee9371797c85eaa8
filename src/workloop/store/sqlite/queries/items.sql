-- name: item_get
-- Find an item by id.
SELECT * FROM item WHERE id = ?;

-- name: item_by_key
-- Find an item by its canonical key.
SELECT * FROM item WHERE campaign_id = ? AND key = ?;

-- name: items_ready
-- List claimable items in claim order.
SELECT * FROM item
WHERE campaign_id = ? AND state = 'pending' AND blockers = 0 AND wake_at IS NULL
ORDER BY rank, CASE role WHEN 'verify' THEN 0 WHEN 'repair' THEN 1 ELSE 2 END, id
LIMIT ? OFFSET ?;

-- name: items_ready_follow_up
-- List claimable verify and repair items in claim order.
SELECT * FROM item
WHERE campaign_id = ? AND state = 'pending' AND blockers = 0 AND wake_at IS NULL AND role <> 'work'
ORDER BY rank, CASE role WHEN 'verify' THEN 0 WHEN 'repair' THEN 1 ELSE 2 END, id
LIMIT ? OFFSET ?;

-- name: items_expired
-- List in-progress items whose lease has lapsed, oldest lease first.
SELECT * FROM item
WHERE campaign_id = ? AND lease_until IS NOT NULL AND lease_until <= ?
ORDER BY lease_until, id LIMIT ?;

-- name: items_due
-- List pending items whose time has come, oldest first.
SELECT * FROM item
WHERE campaign_id = ? AND state = 'pending' AND wake_at IS NOT NULL AND wake_at <= ?
ORDER BY wake_at, id LIMIT ?;

-- name: items_of_root
-- List a root's follow-ups by id.
SELECT * FROM item WHERE root_id = ? ORDER BY id;

-- name: items_of_subject
-- List the open work items of one subject by id.
SELECT * FROM item
WHERE campaign_id = ? AND family IS NOT NULL AND family = ? AND subject = ? AND role = 'work' AND ended_at IS NULL
ORDER BY id;

-- name: items_all
-- List a campaign's items by id, beginning after one, by walking the table: the plus keeps other indexes out.
SELECT * FROM item WHERE +campaign_id = ? AND id > ? ORDER BY id LIMIT ?;

-- name: items_pending
-- List a campaign's pending items by id, beginning after one.
SELECT * FROM item WHERE +campaign_id = ? AND +state = 'pending' AND id > ? ORDER BY id LIMIT ?;

-- name: items_in_progress
-- List a campaign's items in progress by id, beginning after one.
SELECT * FROM item WHERE campaign_id = ? AND lease_until IS NOT NULL AND id > ? ORDER BY id LIMIT ?;

-- name: items_settled
-- List a campaign's items in one of the states that neither wait nor run, by id, beginning after one.
SELECT * FROM item
WHERE campaign_id = ? AND state = ? AND state NOT IN ('pending', 'in_progress') AND id > ?
ORDER BY id LIMIT ?;

-- name: items_to_land
-- List a campaign's results that succeeded and have neither landed nor been refused, by id, beginning after one.
SELECT * FROM item
WHERE campaign_id = ? AND state = 'succeeded' AND state NOT IN ('pending', 'in_progress') AND id > ?
    AND role = 'work' AND candidate_sha IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM fact WHERE item_id = item.id AND kind IN ('landed', 'landing_refused'))
ORDER BY id LIMIT ?;

-- name: keys_like
-- List keys that begin with a prefix, in order.
SELECT key FROM item
WHERE campaign_id = ?1 AND key BETWEEN ?2 AND ?2 || char(1114111) ORDER BY key LIMIT ?3;

-- name: counts
-- Count items by state and role, from the partial indexes alone where there are many.
SELECT state, role, count(*) FROM item
WHERE campaign_id = ?1 AND state NOT IN ('pending', 'in_progress')
GROUP BY state, role
UNION ALL
SELECT 'in_progress', role, count(*) FROM item
WHERE campaign_id = ?1 AND lease_until IS NOT NULL
GROUP BY role
UNION ALL
SELECT 'pending', role, count(*) FROM item
WHERE campaign_id = ?1 AND state = 'pending' AND blockers = 0 AND wake_at IS NULL
GROUP BY role
UNION ALL
SELECT 'pending', role, count(*) FROM item
WHERE campaign_id = ?1 AND state = 'pending' AND blockers > 0
GROUP BY role
UNION ALL
SELECT 'pending', role, count(*) FROM item
WHERE campaign_id = ?1 AND state = 'pending' AND wake_at IS NOT NULL AND blockers = 0
GROUP BY role;

-- name: candidates_open
-- Count candidate and repairing roots, no further than a limit.
SELECT count(*) FROM (
    SELECT 1 FROM item
    WHERE campaign_id = ? AND state IN ('candidate', 'repairing') AND state NOT IN ('pending', 'in_progress')
    LIMIT ?
);

-- name: waiting
-- Tell what keeps pending items back.
SELECT
    (SELECT count(*) FROM item WHERE campaign_id = ?1 AND state = 'pending' AND blockers = 0 AND wake_at IS NULL),
    (SELECT count(*) FROM item WHERE campaign_id = ?1 AND state = 'pending' AND blockers > 0),
    (SELECT count(*) FROM item WHERE campaign_id = ?1 AND state = 'pending' AND wake_at IS NOT NULL AND blockers = 0),
    (SELECT min(wake_at) FROM item WHERE campaign_id = ?1 AND state = 'pending' AND wake_at IS NOT NULL),
    (SELECT min(lease_until) FROM item WHERE campaign_id = ?1 AND lease_until IS NOT NULL);

-- name: item_insert
-- Insert a new item.
INSERT INTO item VALUES (
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
);

-- name: item_move
-- Change an item that stays open and ungated as it is; names no column of an index that need not move.
UPDATE item
SET state = ?, blockers = ?, wake_at = ?, ready_at = ?, rank = ?, attempts = ?, expiries = ?, infra = ?,
    free_releases = ?, fence = ?, lease_until = ?, contract_version = ?, contract_hash = ?, round = ?, verifiers = ?,
    rejections = ?, candidate_sha = ?, parked_as = ?, resume_state = ?, events = ?
WHERE id = ? AND state = ? AND fence = ? AND events = ?;

-- name: item_settle
-- Change an item that opens its gate or ends, with no replacement.
UPDATE item
SET state = ?, blockers = ?, wake_at = ?, ready_at = ?, rank = ?, attempts = ?, expiries = ?, infra = ?,
    free_releases = ?, fence = ?, lease_until = ?, contract_version = ?, contract_hash = ?, round = ?, verifiers = ?,
    rejections = ?, candidate_sha = ?, parked_as = ?, resume_state = ?, events = ?,
    gated = ?, ended_at = ?
WHERE id = ? AND state = ? AND fence = ? AND events = ?;

-- name: item_update
-- Change everything of an item that can change; naming a key of the table's own rows rewrites all its indexes.
UPDATE item
SET state = ?, blockers = ?, wake_at = ?, ready_at = ?, rank = ?, attempts = ?, expiries = ?, infra = ?,
    free_releases = ?, fence = ?, lease_until = ?, contract_version = ?, contract_hash = ?, round = ?, verifiers = ?,
    rejections = ?, candidate_sha = ?, parked_as = ?, resume_state = ?, events = ?,
    gated = ?, replaced_by = ?, ended_at = ?
WHERE id = ? AND state = ? AND fence = ? AND events = ?;

-- name: item_renew
-- Extend a lease that has not lapsed.
UPDATE item SET lease_until = ? WHERE id = ? AND state = 'in_progress' AND fence = ? AND lease_until > ?;

-- name: contract_get
-- Find one version of an item's contract.
SELECT text FROM contract WHERE item_id = ? AND version = ?;

-- name: contract_first
-- Keep the contract a new item begins with.
INSERT INTO contract VALUES (?, 1, ?);

-- name: contract_insert
-- Keep a version of an item's contract, the next one after those kept.
INSERT INTO contract
SELECT ?1, ?2, ?3
WHERE ?2 = 1 + (SELECT coalesce(max(version), 0) FROM contract WHERE item_id = ?1);

-- name: edges_of
-- List what an item waits for.
SELECT * FROM edge WHERE item_id = ? ORDER BY needs_id, until;

-- name: edges_needing
-- List the unmet edges that wait for an item.
SELECT * FROM edge WHERE needs_id = ? AND met = 0 ORDER BY item_id, until;

-- name: edge_insert
-- Keep an edge.
INSERT INTO edge VALUES (?, ?, ?, ?);

-- name: edge_meet
-- Mark an unmet edge as met.
UPDATE edge SET met = 1 WHERE item_id = ? AND needs_id = ? AND until = ? AND met = 0;
