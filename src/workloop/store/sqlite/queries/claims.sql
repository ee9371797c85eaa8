-- name: claim_get
-- Find one claim.
SELECT * FROM claim WHERE item_id = ? AND fence = ?;

-- name: claims_of
-- List an item's claims, oldest first.
SELECT * FROM claim WHERE item_id = ? ORDER BY fence;

-- name: claims_building
-- List the claims of a root and of its repair items.
SELECT claim.* FROM claim
WHERE item_id IN (SELECT ?1 UNION ALL SELECT id FROM item WHERE root_id = ?1 AND role = 'repair')
ORDER BY item_id <> ?1, item_id, fence;

-- name: claim_open_by
-- Find the open claim of an executor by way of its slot.
SELECT claim.* FROM slot
JOIN claim ON claim.item_id = slot.item_id AND claim.ended_at IS NULL
WHERE slot.campaign_id = ? AND slot.executor = ?;

-- name: claim_insert
-- Open a claim.
INSERT INTO claim VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: claim_end
-- Close a claim that is still open.
UPDATE claim
SET ended_at = ?, "end" = ?, settle_digest = ?, answer = ?, report = ?
WHERE item_id = ? AND fence = ? AND ended_at IS NULL;

-- name: evidence_of
-- List all evidence of an item's claims, oldest first.
SELECT * FROM evidence WHERE item_id = ? ORDER BY fence, number;

-- name: evidence_insert
-- Keep a piece of evidence.
INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: check_verdicts_of
-- List what the host has seen of a root's checks, by answers, commit and check.
SELECT * FROM check_verdict WHERE root_id = ? ORDER BY answers, ref, check_id;

-- name: check_verdict_keep
-- Keep what a receipt says of a check, unless the check failed on the commit before; of an older answer, or of a claim
-- that has ended, becomes null and is refused.
INSERT INTO check_verdict VALUES (
    ?1,
    CASE WHEN ?2 = (
        SELECT coalesce(max(number), 0) FROM question WHERE item_id = ?1 AND answered_at IS NOT NULL
    ) THEN ?2 END,
    ?3, ?4, ?5, ?6,
    (SELECT fence FROM claim WHERE item_id = ?6 AND fence = ?7 AND ended_at IS NULL),
    ?8
)
ON CONFLICT (root_id, answers, ref, check_id) DO UPDATE
SET result = excluded.result, item_id = excluded.item_id, fence = excluded.fence, number = excluded.number
WHERE result = 'passed' AND excluded.result <> 'passed';

-- name: candidates_of
-- List a root's candidates by round.
SELECT * FROM candidate WHERE root_id = ? ORDER BY round;

-- name: candidate_insert
-- Keep a new candidate.
INSERT INTO candidate VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: candidate_update
-- Replace a candidate's state and verifier where its state is still that of before.
UPDATE candidate SET state = ?, verifier_id = ? WHERE root_id = ? AND round = ? AND state = ?;

-- name: verdicts_of
-- List a root's closing verdicts by round.
SELECT * FROM verdict WHERE root_id = ? ORDER BY round;

-- name: verdict_insert
-- Keep the closing verdict of a candidate.
INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
