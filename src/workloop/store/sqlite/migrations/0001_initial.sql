-- phase: before-code
-- Instants are microseconds since the epoch, durations microseconds, booleans 0 or 1.
-- A list of more than two words would be built anew as a table for each row checked, so checks spell it with OR.
-- The columns of a table stand in the order of the fields of its dataclass.

CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id TEXT NOT NULL,
    secret BLOB NOT NULL CHECK (length(secret) = 32),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE campaign (
    id INTEGER PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state = 'active' OR state = 'paused' OR state = 'closed'),
    paused_until INTEGER,
    pause_reason TEXT NOT NULL,
    settings TEXT NOT NULL,
    settings_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    slots INTEGER NOT NULL CHECK (slots >= 0)
) STRICT;

CREATE TABLE item (
    id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    key TEXT NOT NULL,
    raw_key TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role = 'work' OR role = 'verify' OR role = 'repair'),
    root_id INTEGER REFERENCES item (id) CHECK (root_id <> id),
    title TEXT NOT NULL,
    family TEXT,
    subject TEXT,
    priority INTEGER NOT NULL,
    verification TEXT NOT NULL CHECK (
        verification = 'none' OR verification = 'host' OR verification = 'session' OR verification = 'both'
    ),
    lease_us INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL,
    expiries_max INTEGER NOT NULL,
    rounds_max INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    state TEXT NOT NULL CHECK (
        state = 'proposed' OR state = 'pending' OR state = 'in_progress' OR state = 'candidate'
        OR state = 'repairing' OR state = 'deferred' OR state = 'succeeded' OR state = 'failed'
        OR state = 'superseded' OR state = 'cancelled'
    ),
    blockers INTEGER NOT NULL CHECK (blockers >= 0),
    gated INTEGER NOT NULL CHECK (gated IN (0, 1)),
    wake_at INTEGER,
    ready_at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    expiries INTEGER NOT NULL,
    infra INTEGER NOT NULL CHECK (infra >= 0),
    free_releases INTEGER NOT NULL CHECK (free_releases >= 0),
    fence INTEGER NOT NULL CHECK (fence >= 0),
    lease_until INTEGER,
    contract_version INTEGER NOT NULL,
    contract_hash TEXT NOT NULL,
    round INTEGER NOT NULL,
    verifiers INTEGER NOT NULL,
    rejections INTEGER NOT NULL,
    candidate_sha TEXT,
    parked_as TEXT,
    resume_state TEXT CHECK (
        resume_state = 'proposed' OR resume_state = 'pending' OR resume_state = 'in_progress'
        OR resume_state = 'candidate' OR resume_state = 'repairing' OR resume_state = 'deferred'
        OR resume_state = 'succeeded' OR resume_state = 'failed' OR resume_state = 'superseded'
        OR resume_state = 'cancelled'
    ),
    replaced_by INTEGER REFERENCES item (id) CHECK (replaced_by <> id),
    ended_at INTEGER,
    events INTEGER NOT NULL CHECK (events >= 0),
    CHECK (attempts BETWEEN 0 AND attempts_max),
    CHECK (expiries BETWEEN 0 AND expiries_max),
    CHECK ((state = 'in_progress') = (lease_until IS NOT NULL)),
    CHECK ((state = 'superseded') = (replaced_by IS NOT NULL)),
    CHECK (
        (state = 'succeeded' OR state = 'failed' OR state = 'superseded'
        OR state = 'cancelled') = (ended_at IS NOT NULL)
    )
) STRICT;

CREATE UNIQUE INDEX item_key ON item (campaign_id, key);
CREATE UNIQUE INDEX item_subject ON item (campaign_id, family, subject)
    WHERE family IS NOT NULL AND gated = 0 AND role = 'work' AND ended_at IS NULL;
CREATE INDEX item_root ON item (root_id) WHERE root_id IS NOT NULL;
CREATE INDEX item_family ON item (campaign_id, family, subject) WHERE family IS NOT NULL;
CREATE INDEX item_ready ON item (
    campaign_id, rank, (CASE role WHEN 'verify' THEN 0 WHEN 'repair' THEN 1 ELSE 2 END), id
) WHERE state = 'pending' AND blockers = 0 AND wake_at IS NULL;
CREATE INDEX item_ready_follow_up ON item (
    campaign_id, rank, (CASE role WHEN 'verify' THEN 0 WHEN 'repair' THEN 1 ELSE 2 END), id
) WHERE state = 'pending' AND blockers = 0 AND wake_at IS NULL AND role <> 'work';
CREATE INDEX item_blocked ON item (campaign_id) WHERE state = 'pending' AND blockers > 0;
CREATE INDEX item_wake ON item (campaign_id, wake_at) WHERE state = 'pending' AND wake_at IS NOT NULL;
CREATE INDEX item_lease ON item (campaign_id, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX item_settled ON item (campaign_id, state, id, role) WHERE state NOT IN ('pending', 'in_progress');

CREATE TRIGGER item_never_falls BEFORE UPDATE ON item
WHEN old.ended_at IS NOT NULL OR new.attempts < old.attempts OR new.expiries < old.expiries
    OR new.infra < old.infra OR new.fence < old.fence OR new.events < old.events
BEGIN
    SELECT raise(ABORT, 'a terminal row never changes and no counter falls');
END;
CREATE TRIGGER item_stays BEFORE DELETE ON item
BEGIN
    SELECT raise(ABORT, 'items are never deleted');
END;

CREATE TABLE slot (
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    item_id INTEGER REFERENCES item (id),
    executor TEXT,
    PRIMARY KEY (campaign_id, number),
    CHECK ((item_id IS NULL) = (executor IS NULL))
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX slot_item ON slot (item_id) WHERE item_id IS NOT NULL;
CREATE UNIQUE INDEX slot_executor ON slot (campaign_id, executor) WHERE executor IS NOT NULL;

CREATE TABLE contract (
    item_id INTEGER NOT NULL REFERENCES item (id),
    version INTEGER NOT NULL CHECK (version >= 1),
    text TEXT NOT NULL,
    PRIMARY KEY (item_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE edge (
    item_id INTEGER NOT NULL REFERENCES item (id),
    needs_id INTEGER NOT NULL REFERENCES item (id) CHECK (needs_id <> item_id),
    until TEXT NOT NULL CHECK (until = 'candidate' OR until = 'verified' OR until = 'landed' OR until = 'closed'),
    met INTEGER NOT NULL CHECK (met IN (0, 1)),
    PRIMARY KEY (item_id, needs_id, until)
) STRICT, WITHOUT ROWID;

CREATE INDEX edge_needing ON edge (needs_id) WHERE met = 0;

CREATE TABLE claim (
    item_id INTEGER NOT NULL REFERENCES item (id),
    fence INTEGER NOT NULL CHECK (fence >= 1),
    campaign_id INTEGER NOT NULL,
    holder TEXT NOT NULL,
    principal TEXT NOT NULL,
    executor TEXT NOT NULL,
    assured INTEGER NOT NULL CHECK (assured IN (0, 1)),
    sandbox TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    ended_at INTEGER,
    "end" TEXT CHECK (
        "end" = 'complete' OR "end" = 'retry' OR "end" = 'defer' OR "end" = 'release' OR "end" = 'infra'
        OR "end" = 'expired' OR "end" = 'parked' OR "end" = 'superseded' OR "end" = 'cancelled'
    ),
    settle_digest TEXT,
    answer TEXT,
    report TEXT,
    PRIMARY KEY (item_id, fence),
    CHECK ((ended_at IS NULL) = ("end" IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE evidence (
    item_id INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    number INTEGER NOT NULL,
    origin TEXT NOT NULL CHECK (origin = 'claimed' OR origin = 'receipt'),
    kind TEXT NOT NULL CHECK (
        kind = 'commit' OR kind = 'check' OR kind = 'file' OR kind = 'artifact' OR kind = 'url'
        OR kind = 'row' OR kind = 'note'
    ),
    ref TEXT NOT NULL,
    slot TEXT,
    digest TEXT,
    result TEXT,
    captured_at INTEGER NOT NULL,
    "grant" INTEGER,
    candidate_ref TEXT,
    sandbox TEXT NOT NULL,
    PRIMARY KEY (item_id, fence, number),
    FOREIGN KEY (item_id, fence) REFERENCES claim (item_id, fence)
) STRICT, WITHOUT ROWID;

CREATE TABLE candidate (
    root_id INTEGER NOT NULL REFERENCES item (id),
    round INTEGER NOT NULL,
    source_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (
        kind = 'commit' OR kind = 'artifact' OR kind = 'row' OR kind = 'url' OR kind = 'no_change'
    ),
    ref TEXT NOT NULL,
    contract_hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'open' OR state = 'passed' OR state = 'rejected' OR state = 'stale'),
    submitted_at INTEGER NOT NULL,
    verifier_id INTEGER,
    PRIMARY KEY (root_id, round)
) STRICT, WITHOUT ROWID;

CREATE TABLE verdict (
    root_id INTEGER NOT NULL,
    round INTEGER NOT NULL,
    verifier_id INTEGER NOT NULL,
    executor TEXT NOT NULL,
    principal TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome = 'passed' OR outcome = 'rejected' OR outcome = 'inconclusive'),
    ref TEXT NOT NULL,
    failed_checks TEXT NOT NULL,
    reproduction TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (root_id, round),
    FOREIGN KEY (root_id, round) REFERENCES candidate (root_id, round)
) STRICT, WITHOUT ROWID;

CREATE TABLE question (
    item_id INTEGER NOT NULL REFERENCES item (id),
    number INTEGER NOT NULL,
    campaign_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'boundary' OR kind = 'brake'),
    name TEXT NOT NULL,
    asks TEXT NOT NULL,
    evidence TEXT NOT NULL,
    resume_when TEXT NOT NULL,
    owner TEXT NOT NULL,
    resume_state TEXT NOT NULL CHECK (
        resume_state = 'proposed' OR resume_state = 'pending' OR resume_state = 'in_progress'
        OR resume_state = 'candidate' OR resume_state = 'repairing' OR resume_state = 'deferred'
        OR resume_state = 'succeeded' OR resume_state = 'failed' OR resume_state = 'superseded'
        OR resume_state = 'cancelled'
    ),
    raised_at INTEGER NOT NULL,
    answered_at INTEGER,
    answered_by TEXT,
    answer TEXT,
    PRIMARY KEY (item_id, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX question_open ON question (item_id) WHERE answered_at IS NULL;
CREATE INDEX question_waiting ON question (campaign_id, raised_at) WHERE answered_at IS NULL;

CREATE TABLE fact (
    item_id INTEGER NOT NULL REFERENCES item (id),
    number INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (
        kind = 'submitted' OR kind = 'verified' OR kind = 'landed' OR kind = 'still_green'
        OR kind = 'red_after_landing' OR kind = 'landing_refused' OR kind = 'succeeded_by'
    ),
    ref TEXT NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    PRIMARY KEY (item_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE lane (
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'free' OR state = 'held' OR state = 'dirty'),
    "grant" INTEGER NOT NULL CHECK ("grant" >= 0),
    item_id INTEGER,
    fence INTEGER,
    PRIMARY KEY (campaign_id, name),
    CHECK (state <> 'held' OR item_id IS NOT NULL),
    CHECK ((item_id IS NULL) = (fence IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX lane_held ON lane (item_id) WHERE item_id IS NOT NULL;
CREATE TRIGGER lane_grant_never_falls BEFORE UPDATE ON lane WHEN new."grant" < old."grant"
BEGIN
    SELECT raise(ABORT, 'the grant of a lane never falls');
END;

CREATE TABLE lane_grant (
    campaign_id INTEGER NOT NULL,
    lane TEXT NOT NULL,
    "grant" INTEGER NOT NULL,
    item_id INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    ended_at INTEGER,
    checkout_root TEXT NOT NULL,
    checkout_sha TEXT NOT NULL,
    resources TEXT NOT NULL,
    cleaned TEXT NOT NULL,
    PRIMARY KEY (campaign_id, lane, "grant"),
    FOREIGN KEY (campaign_id, lane) REFERENCES lane (campaign_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    campaign_id INTEGER NOT NULL,
    item_id INTEGER NOT NULL REFERENCES item (id),
    n INTEGER NOT NULL CHECK (n >= 1),
    txn INTEGER NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    principal TEXT NOT NULL,
    fence INTEGER NOT NULL,
    changes TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX event_of_item ON event (item_id, n);
CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN
    SELECT raise(ABORT, 'events are append-only');
END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN
    SELECT raise(ABORT, 'events are append-only');
END;

CREATE TABLE request (
    campaign_id INTEGER NOT NULL,
    principal TEXT NOT NULL,
    request_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    answer TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, principal, request_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX request_age ON request (at);
