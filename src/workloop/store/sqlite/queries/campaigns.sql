-- name: store_secret
-- Read the store's secret.
SELECT secret FROM meta;

-- name: campaign_by_slug
-- Find a campaign by its name.
SELECT * FROM campaign WHERE slug = ?;

-- name: campaigns
-- List all campaigns by name.
SELECT * FROM campaign ORDER BY slug;

-- name: campaign_insert
-- Create an active campaign unless its name is taken.
INSERT INTO campaign (slug, state, pause_reason, settings, settings_version, created_at, slots)
VALUES (?, 'active', '', ?, 1, ?, ?)
ON CONFLICT (slug) DO NOTHING
RETURNING id;

-- name: campaign_update
-- Replace state, pause and settings where they are still those of before.
UPDATE campaign
SET state = ?, paused_until = ?, pause_reason = ?, settings = ?, settings_version = ?, slots = ?
WHERE id = ? AND state = ? AND paused_until IS ? AND pause_reason = ? AND settings_version = ?;

-- name: slots
-- List a campaign's slots by number.
SELECT * FROM slot WHERE campaign_id = ? ORDER BY number;

-- name: slot_insert
-- Add a free slot unless the campaign has it.
INSERT INTO slot (campaign_id, number) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: slot_take
-- Take the lowest free slot within the campaign's number.
UPDATE slot
SET item_id = ?2, executor = ?3
WHERE campaign_id = ?1
    AND number = (
        SELECT min(free.number) FROM slot AS free
        WHERE free.campaign_id = ?1 AND free.item_id IS NULL
            AND free.number <= (SELECT campaign.slots FROM campaign WHERE campaign.id = ?1)
    )
RETURNING number;

-- name: slot_free
-- Free the slot an item holds.
UPDATE slot SET item_id = NULL, executor = NULL WHERE item_id = ? AND campaign_id = ?;

-- name: request_get
-- Find the answer once given under a request id.
SELECT * FROM request WHERE campaign_id = ? AND principal = ? AND request_id = ?;

-- name: request_insert
-- Keep the answer given under a request id.
INSERT INTO request VALUES (?, ?, ?, ?, ?, ?);

-- name: requests_prune
-- Forget answers older than an instant.
DELETE FROM request WHERE at < ?;
