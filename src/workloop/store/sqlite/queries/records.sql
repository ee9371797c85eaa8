-- name: question_open
-- Find an item's open question.
SELECT * FROM question WHERE item_id = ? AND answered_at IS NULL;

-- name: questions_of
-- List all questions of an item by number.
SELECT * FROM question WHERE item_id = ? ORDER BY number;

-- name: questions_open
-- List a campaign's open questions, oldest first.
SELECT * FROM question WHERE campaign_id = ? AND answered_at IS NULL ORDER BY raised_at, item_id, number;

-- name: question_insert
-- Raise a question.
INSERT INTO question VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: question_answer
-- Record the answer of a question that is still open.
UPDATE question SET answered_at = ?, answered_by = ?, answer = ? WHERE item_id = ? AND number = ? AND answered_at IS NULL;

-- name: facts_of
-- List an item's facts by number.
SELECT * FROM fact WHERE item_id = ? ORDER BY number;

-- name: fact_insert
-- Append a fact.
INSERT INTO fact VALUES (?, ?, ?, ?, ?, ?);

-- name: lane_get
-- Find a lane.
SELECT * FROM lane WHERE campaign_id = ? AND name = ?;

-- name: lanes
-- List a campaign's lanes by name.
SELECT * FROM lane WHERE campaign_id = ? ORDER BY name;

-- name: lanes_held
-- List the lanes whose owner is a claim of an item.
SELECT * FROM lane WHERE item_id = ? ORDER BY campaign_id, name;

-- name: lane_insert
-- Add a free lane unless the campaign has it.
INSERT INTO lane VALUES (?, ?, 'free', 0, NULL, NULL) ON CONFLICT DO NOTHING;

-- name: lane_update
-- Replace a lane's state and owner where state and grant are still those of before.
UPDATE lane SET state = ?, "grant" = ?, item_id = ?, fence = ?
WHERE campaign_id = ? AND name = ? AND state = ? AND "grant" = ?;

-- name: grant_get
-- Find one grant of a lane.
SELECT * FROM lane_grant WHERE campaign_id = ? AND lane = ? AND "grant" = ?;

-- name: grant_insert
-- Open a grant.
INSERT INTO lane_grant VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: grant_update
-- Replace a grant's end, checkout, resources and acknowledgements.
UPDATE lane_grant SET ended_at = ?, checkout_root = ?, checkout_sha = ?, resources = ?, cleaned = ?
WHERE campaign_id = ? AND lane = ? AND "grant" = ?;

-- name: events_of
-- List an item's events by number.
SELECT * FROM event WHERE item_id = ? ORDER BY n;

-- name: events_since
-- List a campaign's events after one, in order.
SELECT * FROM event WHERE +campaign_id = ? AND id > ? ORDER BY id LIMIT ?;

-- name: event_newest
-- Find the newest event of the store and when it happened.
SELECT id, at FROM event ORDER BY id DESC LIMIT 1;

-- name: event_append
-- Append an event; a number that does not follow the item's last one becomes null and is refused.
INSERT INTO event (campaign_id, item_id, n, txn, at, action, principal, fence, changes, detail)
VALUES (
    ?1, ?2,
    CASE WHEN ?3 = 1 + (SELECT coalesce(max(n), 0) FROM event WHERE item_id = ?2) THEN ?3 END,
    ?4, ?5, ?6, ?7, ?8, ?9, ?10
);
