-- phase: before-code
-- What the host has seen of a check on a commit, once for each: what failed there never passes there, until a person
-- has answered about the item. `answers` is the number of the last question answered, so an answer opens a new row.
-- What older receipts say is taken over: of those on one commit, the first that was no pass, else the first pass.

CREATE TABLE check_verdict (
    root_id INTEGER NOT NULL REFERENCES item (id),
    answers INTEGER NOT NULL CHECK (answers >= 0),
    ref TEXT NOT NULL,
    check_id TEXT NOT NULL,
    result TEXT NOT NULL,
    item_id INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (root_id, answers, ref, check_id),
    FOREIGN KEY (item_id, fence, number) REFERENCES evidence (item_id, fence, number)
) STRICT, WITHOUT ROWID;

INSERT INTO check_verdict
SELECT root_id, answers, candidate_ref, slot, result, item_id, fence, number
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY root_id, answers, candidate_ref, slot
        ORDER BY result = 'passed', captured_at, item_id, fence, number
    ) AS place
    FROM (
        SELECT evidence.*, item.root_id, (
            SELECT coalesce(max(question.number), 0) FROM question
            WHERE question.item_id = item.root_id AND question.answered_at < evidence.captured_at
        ) AS answers
        FROM evidence
        JOIN item ON item.id = evidence.item_id
        WHERE item.role = 'verify' AND evidence.origin = 'receipt' AND evidence.kind = 'check'
            AND evidence.slot IS NOT NULL AND evidence.candidate_ref IS NOT NULL AND evidence.result IS NOT NULL
            AND evidence.result <> 'error' AND evidence.result NOT LIKE 'error:%'
            AND evidence.result <> 'timeout' AND evidence.result NOT LIKE 'timeout:%'
            AND evidence.result <> 'absent' AND evidence.result NOT LIKE 'absent:%'
    )
)
WHERE place = 1;

CREATE TRIGGER check_verdict_stays BEFORE UPDATE ON check_verdict
WHEN old.result <> 'passed' OR new.result = 'passed' OR old.root_id <> new.root_id OR old.answers <> new.answers
    OR old.ref <> new.ref OR old.check_id <> new.check_id
BEGIN
    SELECT raise(ABORT, 'a check has one verdict on a commit, and one that failed there never passes');
END;
CREATE TRIGGER check_verdict_is_kept BEFORE DELETE ON check_verdict
BEGIN
    SELECT raise(ABORT, 'verdicts of checks are never deleted');
END;
CREATE TRIGGER verdict_heeds_checks BEFORE INSERT ON verdict
WHEN new.outcome = 'passed' AND EXISTS (
    SELECT 1 FROM check_verdict
    WHERE root_id = new.root_id AND ref = new.ref AND result <> 'passed' AND answers = (
        SELECT coalesce(max(number), 0) FROM question WHERE item_id = new.root_id AND answered_at IS NOT NULL
    )
)
BEGIN
    SELECT raise(ABORT, 'nothing passes on which a check was seen to fail');
END;
