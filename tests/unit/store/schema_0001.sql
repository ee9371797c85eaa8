BEGIN TRANSACTION;
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
INSERT INTO "campaign" VALUES(1,'night','active',NULL,'','{"boundaries":{"delete-data":"May data be deleted?","spend-money":"May this cost money?"},"candidates_max":20,"ceilings":{"attempts_max":5,"expiries_max":5,"lease_seconds":1800,"priority":100,"rounds_max":3,"verify_lease_seconds":1200},"defaults":{"boundaries":["spend-money","delete-data"],"outcomes":["commit"],"verification":"both"},"grantable":["push"],"independence":"executor","landing":"none","lanes":["browser","db"],"rank_step_us":216000000,"slots":9}',1,1800000000000000,9);
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
INSERT INTO "candidate" VALUES(7549747200003766950,1,7549747200003766950,'commit','0000000000000000000000000000000000000001','0fbbe14ec826b865e1481132cafc6653a09b9cd2646a638a1ab347250a8157cc','rejected',1800000000000000,7549747200003980451);
INSERT INTO "candidate" VALUES(7549747200003766950,2,7549747200002850902,'commit','0000000000000000000000000000000000000002','0fbbe14ec826b865e1481132cafc6653a09b9cd2646a638a1ab347250a8157cc','passed',1800000000000000,7549747200001076426);
INSERT INTO "candidate" VALUES(7549747200003766952,1,7549747200003766952,'commit','0000000000000000000000000000000000000003','fe87295663cbcc03503f35ecac17e319852bd47067ea3b723a7d08946947721a','passed',1800003600000000,7549762299496759251);
INSERT INTO "candidate" VALUES(7549747200003766954,1,7549747200003766954,'commit','0000000000000000000000000000000000000004','fe20c2fd59f08c28ffdc5ef354f8f3b178347681f3f52c2d9aed9baaf519edfa','open',1800003600000000,7549762299494846797);
INSERT INTO "candidate" VALUES(7549762299498265507,1,7549762299498265507,'commit','000000000000000000000000000000000000000b','08311856df34cd51690c8b4abeb9d3f05c37250d33713ae0f1269f8446375cf1','open',1800003600000000,7549762299498346593);
INSERT INTO "candidate" VALUES(7549762307884456047,1,7549762307884456047,'commit','000000000000000000000000000000000000000c','86bdc1fbcfdfe9bfe045b13483eb6e7340e0ce22887ebe8c6cfdc80d80af52e3','passed',1800003602000000,7549762316273033464);
INSERT INTO "candidate" VALUES(7549762324661263087,1,7549762324661263087,'commit','000000000000000000000000000000000000000d','d1961b73d4da6b7271cad47ec7dff81591b92d605d431db45c23165d1237a567','passed',1800003606000000,7549762324662847039);
INSERT INTO "candidate" VALUES(7549762333050688776,1,7549762333050688776,'commit','000000000000000000000000000000000000000e','d0870f16ea2095e35b3d4a84e30338eaf0498e003fed43fa8d20e3701f095bb7','open',1800003608000000,7549762333051759508);
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
INSERT INTO "claim" VALUES(7549747200001076426,1,1,'checker','loop','loop/checker',0,'none',1800000000000000,1800000000000000,'complete','0dc950d1e66b30f1b2bbc44c5a645be6506540e968b6b4890dab0b9b90be3a98','{"key": "built~v2", "state": "succeeded", "follow_up": null, "root": {"key": "built", "state": "succeeded"}}','{"verdict": "passed"}');
INSERT INTO "claim" VALUES(7549747200002850902,1,1,'builder','loop','loop/builder',0,'none',1800000000000000,1800000000000000,'complete','d5289a0ca51077428446ab541fb57f9160479cecb57c3dc4e990f2a8a1067f88','{"key": "built~r1", "state": "succeeded", "follow_up": {"key": "built~v2", "role": "verify"}, "root": {"key": "built", "state": "candidate"}}','{"outcome": "commit", "ref": "0000000000000000000000000000000000000002", "summary": ""}');
INSERT INTO "claim" VALUES(7549747200003766950,1,1,'builder','loop','loop/builder',0,'none',1800000000000000,1800000000000000,'complete','4d9f318830b3dbcd6494a812649a3ca4ae1e7d7a53bfd6b16fecdcf527a297a8','{"key": "built", "state": "candidate", "follow_up": {"key": "built~v1", "role": "verify"}}','{"outcome": "commit", "ref": "0000000000000000000000000000000000000001", "summary": ""}');
INSERT INTO "claim" VALUES(7549747200003766952,1,1,'builder','loop','loop/builder',0,'none',1800000000000000,1800000000000000,'retry','17e0a95dfe160a4de66b14f66d406841e41440705cf2052432e2b6d2a70dfce6','{"key": "tried", "state": "pending", "exhausted": false}','{"cause": "typo", "failed": "test", "next_action": "fix it"}');
INSERT INTO "claim" VALUES(7549747200003766952,2,1,'builder','loop','loop/builder',0,'none',1800000000000000,1800000000000000,'release','f74b3a7a763a1acba99d8e8f5b63a4d87e231c085dae0ec91c84a3bbba60e380','{"key": "tried", "state": "pending", "exhausted": false}','{"reason": ""}');
INSERT INTO "claim" VALUES(7549747200003766952,3,1,'builder','loop','loop/builder',0,'none',1800000000000000,1800000000000000,'infra','837fe33f4dc157a3304c4d97bfcd48c13e18571cae9d3ced8264fd01cdf53b90','{"key": "tried", "state": "pending", "exhausted": false}','{"reason": ""}');
INSERT INTO "claim" VALUES(7549747200003766952,4,1,'builder','loop','loop/builder',0,'none',1800000000000000,1800000000000000,'defer','8ab400ad4ae235806641ad46daaaca70771063c21cad611cde7907a58a8b1fe4','{"key": "tried", "state": "deferred", "question": "May I?"}','{"asks": "May I?", "boundary": "spend-money"}');
INSERT INTO "claim" VALUES(7549747200003766952,5,1,'builder','loop','loop/builder',0,'none',1800000000000000,1800003600000000,'expired',NULL,NULL,NULL);
INSERT INTO "claim" VALUES(7549747200003766952,6,1,'builder','loop','loop/builder',0,'none',1800003600000000,1800003600000000,'complete','e9c50f3f037ccf26c22a9bf96d4efc27bb60fb007c5b245816fe20d8f0438a61','{"key": "tried", "state": "candidate", "follow_up": {"key": "tried~v1", "role": "verify"}}','{"outcome": "commit", "ref": "0000000000000000000000000000000000000003", "summary": ""}');
INSERT INTO "claim" VALUES(7549747200003766954,1,1,'builder','loop','loop/builder',0,'none',1800003600000000,1800003600000000,'complete','059dfa15fe7171b446a446802df04ccdff795ff7c828296259b648de103b2fe9','{"key": "seen", "state": "candidate", "follow_up": {"key": "seen~v1", "role": "verify"}}','{"outcome": "commit", "ref": "0000000000000000000000000000000000000004", "summary": ""}');
INSERT INTO "claim" VALUES(7549747200003766955,1,1,'builder','loop','loop/builder',0,'none',1800003600000000,1800003600000000,'superseded',NULL,NULL,NULL);
INSERT INTO "claim" VALUES(7549747200003766958,1,1,'builder','loop','loop/builder',0,'none',1800003600000000,1800003600000000,'retry','4d87d07820880740cde6cc395478bc62ba840e90b44c62487e54a956c6bc3680','{"key": "fails", "state": "failed", "exhausted": true}','{"cause": "typo", "failed": "test", "next_action": "fix it"}');
INSERT INTO "claim" VALUES(7549747200003980451,1,1,'checker','loop','loop/checker',0,'none',1800000000000000,1800000000000000,'complete','766c5beea1f079f13c061e1e99151ed12ab54881d35329d4449f7f8458b932cb','{"key": "built~v1", "state": "succeeded", "follow_up": {"key": "built~r1", "role": "repair"}, "root": {"key": "built", "state": "repairing"}}','{"verdict": "rejected"}');
INSERT INTO "claim" VALUES(7549762299494846797,1,1,'last','loop','loop/last',0,'none',1800003600000000,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "claim" VALUES(7549762299496759251,1,1,'checker','loop','loop/checker',0,'none',1800003600000000,1800003600000000,'complete','f72192e4a99e7cc3cecac277781c0794ef6b47581cb78b83bcef67433cf82b64','{"key": "tried~v2", "state": "succeeded", "follow_up": null, "root": {"key": "tried", "state": "succeeded"}}','{"verdict": "passed"}');
INSERT INTO "claim" VALUES(7549762299497437588,1,1,'checker','loop','loop/checker',0,'none',1800003600000000,1800003600000000,'complete','3cdbc31cef9cdae3953e96ec96410f7876f2275c197b3954e978ffaf14aa2e79','{"key": "tried~v1", "state": "pending", "exhausted": false}','{"reason": "no device", "verdict": "inconclusive"}');
INSERT INTO "claim" VALUES(7549762299498265507,1,1,'builder','ann','ann/builder',0,'none',1800003600000000,1800003600000000,'complete','2aff57ed8927cda2bd319eb6297d259dc9692a941e4e64937d832f20e93da414','{"key": "chance", "state": "candidate", "follow_up": {"key": "chance~v1", "role": "verify"}}','{"outcome": "commit", "ref": "000000000000000000000000000000000000000b", "summary": ""}');
INSERT INTO "claim" VALUES(7549762299498346593,1,1,'one','ann','ann/one',0,'none',1800003600000000,1800003601000000,'complete','59e8bdca167b8ea17e3cd89c1c6b28fda51b940f8e2b4ea0b7598f4d4240f5dc','{"key": "chance~v1", "state": "pending", "exhausted": false}','{"reason": "the device is not here", "verdict": "inconclusive"}');
INSERT INTO "claim" VALUES(7549762299498346593,2,1,'two','ann','ann/two',0,'none',1800003601000000,1800003602000000,'complete','3b6e76614c4fceac020e4fc504970ba12c6d9b1952e0375021120dfd15d7fdb7','{"key": "chance~v1", "state": "pending", "exhausted": false}','{"reason": "the device is not here", "verdict": "inconclusive"}');
INSERT INTO "claim" VALUES(7549762307884456047,1,1,'builder','ann','ann/builder',0,'none',1800003602000000,1800003602000000,'complete','4a2ad057dd729e446176ef749e23ff8bd52b9570715ac2ad8ff0dd1b7e95a36b','{"key": "excused", "state": "candidate", "follow_up": {"key": "excused~v1", "role": "verify"}}','{"outcome": "commit", "ref": "000000000000000000000000000000000000000c", "summary": ""}');
INSERT INTO "claim" VALUES(7549762307886014874,1,1,'one','ann','ann/one',0,'none',1800003602000000,1800003603000000,'complete','dd78c8d6a24bb701ec746d42c3a3214a91418dfd59898d52a807161d4029fd08','{"key": "excused~v1", "state": "pending", "exhausted": false}','{"reason": "the device is not here", "verdict": "inconclusive"}');
INSERT INTO "claim" VALUES(7549762316273033464,1,1,'two','ann','ann/two',0,'none',1800003605000000,1800003606000000,'complete','db24c5ea16d4fdc488ccc3752bcd12bcd6515b849c3eb21090a487e7bf2f1f29','{"key": "excused~v2", "state": "succeeded", "follow_up": null, "root": {"key": "excused", "state": "succeeded"}}','{"verdict": "passed"}');
INSERT INTO "claim" VALUES(7549762324661263087,1,1,'builder','ann','ann/builder',0,'none',1800003606000000,1800003606000000,'complete','66ad8fe0ead6c17429d174221d1c9cf2c3d64ae4efdd0126d59816fa2c1f5746','{"key": "unrun", "state": "candidate", "follow_up": {"key": "unrun~v1", "role": "verify"}}','{"outcome": "commit", "ref": "000000000000000000000000000000000000000d", "summary": ""}');
INSERT INTO "claim" VALUES(7549762324662847039,1,1,'one','ann','ann/one',0,'none',1800003606000000,1800003607000000,'complete','da04264c2ec802f98201bf20b4c5bd11c634057a8b915dcb14559fa426c1fb7f','{"key": "unrun~v1", "state": "pending", "exhausted": false}','{"reason": "the device is not here", "verdict": "inconclusive"}');
INSERT INTO "claim" VALUES(7549762324662847039,2,1,'two','ann','ann/two',0,'none',1800003607000000,1800003608000000,'complete','acb25f1df5a0cf14341a9fd4d7b7cd0dc42ea44e01ef46c31baa5e342d3e0470','{"key": "unrun~v1", "state": "succeeded", "follow_up": null, "root": {"key": "unrun", "state": "succeeded"}}','{"verdict": "passed"}');
INSERT INTO "claim" VALUES(7549762333050688776,1,1,'builder','ann','ann/builder',0,'none',1800003608000000,1800003608000000,'complete','f19dd792a44d36a3c145e1c907229dd558b0add85dc588679e4105f2639430f4','{"key": "judged", "state": "candidate", "follow_up": {"key": "judged~v1", "role": "verify"}}','{"outcome": "commit", "ref": "000000000000000000000000000000000000000e", "summary": ""}');
INSERT INTO "claim" VALUES(7549762333051759508,1,1,'three','ann','ann/three',0,'none',1800003608000000,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE contract (
    item_id INTEGER NOT NULL REFERENCES item (id),
    version INTEGER NOT NULL CHECK (version >= 1),
    text TEXT NOT NULL,
    PRIMARY KEY (item_id, version)
) STRICT, WITHOUT ROWID;
INSERT INTO "contract" VALUES(7549747200001076426,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"0000000000000000000000000000000000000002","round":2},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"built","outcomes":["commit"],"title":"built","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200002850902,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"0000000000000000000000000000000000000001","round":1},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"findings":[{"check_id":"objective","reproduction":"look"}],"objective":"built","outcomes":["commit"],"title":"built","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766950,1,'{"boundaries":["spend-money","delete-data"],"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"built","outcomes":["commit"],"title":"built","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766951,1,'{"boundaries":["spend-money","delete-data"],"objective":"after","outcomes":["commit"],"title":"after","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766952,1,'{"boundaries":["spend-money","delete-data"],"family":"page","objective":"tried","outcomes":["commit"],"subject":"/","title":"tried","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766952,2,'{"addenda":[{"answer":"yes","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"May I?"}],"boundaries":["spend-money","delete-data"],"family":"page","objective":"tried","outcomes":["commit"],"subject":"/","title":"tried","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766952,3,'{"addenda":[{"answer":"yes","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"May I?"},{"answer":"go on","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"What now?"}],"boundaries":["spend-money","delete-data"],"family":"page","objective":"tried","outcomes":["commit"],"subject":"/","title":"tried","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766952,4,'{"addenda":[{"answer":"yes","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"May I?"},{"answer":"go on","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"What now?"},{"answer":"verify it again","answered_at":"2027-01-15T09:00:00.000000Z","answered_by":"ann","question":"What now?"}],"boundaries":["spend-money","delete-data"],"family":"page","objective":"tried","outcomes":["commit"],"subject":"/","title":"tried","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766953,1,'{"boundaries":["spend-money","delete-data"],"family":"page","objective":"newer","outcomes":["commit"],"subject":"/","title":"newer","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766954,1,'{"boundaries":["spend-money","delete-data"],"evidence":[{"id":"live","kinds":["url"],"live":true}],"lane":"browser","objective":"seen","outcomes":["commit"],"title":"seen","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766955,1,'{"boundaries":["spend-money","delete-data"],"objective":"ends","outcomes":["commit"],"title":"ends","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766956,1,'{"boundaries":["spend-money","delete-data"],"objective":"waits","outcomes":["commit"],"title":"waits","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766957,1,'{"boundaries":["spend-money","delete-data"],"objective":"unwanted","outcomes":["commit"],"title":"unwanted","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003766958,1,'{"boundaries":["spend-money","delete-data"],"objective":"fails","outcomes":["commit"],"title":"fails","verification":"none"}');
INSERT INTO "contract" VALUES(7549747200003974287,1,'{"boundaries":["spend-money","delete-data"],"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"built","outcomes":["commit"],"title":"built","verification":"both"}');
INSERT INTO "contract" VALUES(7549747200003980451,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"0000000000000000000000000000000000000001","round":1},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"built","outcomes":["commit"],"title":"built","verification":"both"}');
INSERT INTO "contract" VALUES(7549762299494846797,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"0000000000000000000000000000000000000004","round":1},"evidence":[{"id":"live","kinds":["url"],"live":true}],"lane":"browser","objective":"seen","outcomes":["commit"],"title":"seen","verification":"both"}');
INSERT INTO "contract" VALUES(7549762299494927400,1,'{"boundaries":["spend-money","delete-data"],"objective":"fails","outcomes":["commit"],"title":"fails","verification":"none"}');
INSERT INTO "contract" VALUES(7549762299496759251,1,'{"addenda":[{"answer":"yes","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"May I?"},{"answer":"go on","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"What now?"},{"answer":"verify it again","answered_at":"2027-01-15T09:00:00.000000Z","answered_by":"ann","question":"What now?"}],"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"0000000000000000000000000000000000000003","round":1},"family":"page","objective":"tried","outcomes":["commit"],"subject":"/","title":"tried","verification":"both"}');
INSERT INTO "contract" VALUES(7549762299497437588,1,'{"addenda":[{"answer":"yes","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"May I?"},{"answer":"go on","answered_at":"2027-01-15T08:00:00.000000Z","answered_by":"ann","question":"What now?"}],"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"0000000000000000000000000000000000000003","round":1},"family":"page","objective":"tried","outcomes":["commit"],"subject":"/","title":"tried","verification":"both"}');
INSERT INTO "contract" VALUES(7549762299497487717,1,'{"boundaries":["spend-money","delete-data"],"objective":"idea","outcomes":["commit"],"title":"idea","verification":"both"}');
INSERT INTO "contract" VALUES(7549762299498265507,1,'{"boundaries":["spend-money","delete-data"],"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"chance","outcomes":["commit"],"title":"chance","verification":"both"}');
INSERT INTO "contract" VALUES(7549762299498346593,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"000000000000000000000000000000000000000b","round":1},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"chance","outcomes":["commit"],"title":"chance","verification":"both"}');
INSERT INTO "contract" VALUES(7549762307884456047,1,'{"boundaries":["spend-money","delete-data"],"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"excused","outcomes":["commit"],"title":"excused","verification":"both"}');
INSERT INTO "contract" VALUES(7549762307884456047,2,'{"addenda":[{"answer":"the machine was broken","answered_at":"2027-01-15T09:00:04.000000Z","answered_by":"ann","question":"What now?"}],"boundaries":["spend-money","delete-data"],"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"excused","outcomes":["commit"],"title":"excused","verification":"both"}');
INSERT INTO "contract" VALUES(7549762307886014874,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"000000000000000000000000000000000000000c","round":1},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"excused","outcomes":["commit"],"title":"excused","verification":"both"}');
INSERT INTO "contract" VALUES(7549762316273033464,1,'{"addenda":[{"answer":"the machine was broken","answered_at":"2027-01-15T09:00:04.000000Z","answered_by":"ann","question":"What now?"}],"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"000000000000000000000000000000000000000c","round":1},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"excused","outcomes":["commit"],"title":"excused","verification":"both"}');
INSERT INTO "contract" VALUES(7549762324661263087,1,'{"boundaries":["spend-money","delete-data"],"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"unrun","outcomes":["commit"],"title":"unrun","verification":"both"}');
INSERT INTO "contract" VALUES(7549762324662847039,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"000000000000000000000000000000000000000d","round":1},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"unrun","outcomes":["commit"],"title":"unrun","verification":"both"}');
INSERT INTO "contract" VALUES(7549762333050688776,1,'{"boundaries":["spend-money","delete-data"],"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"judged","outcomes":["commit"],"title":"judged","verification":"both"}');
INSERT INTO "contract" VALUES(7549762333051759508,1,'{"boundaries":["spend-money","delete-data"],"candidate":{"kind":"commit","ref":"000000000000000000000000000000000000000e","round":1},"checks":[{"command":"make test","id":"suite","kind":"proves","timeout_seconds":600.0}],"objective":"judged","outcomes":["commit"],"title":"judged","verification":"both"}');
CREATE TABLE edge (
    item_id INTEGER NOT NULL REFERENCES item (id),
    needs_id INTEGER NOT NULL REFERENCES item (id) CHECK (needs_id <> item_id),
    until TEXT NOT NULL CHECK (until = 'candidate' OR until = 'verified' OR until = 'landed' OR until = 'closed'),
    met INTEGER NOT NULL CHECK (met IN (0, 1)),
    PRIMARY KEY (item_id, needs_id, until)
) STRICT, WITHOUT ROWID;
INSERT INTO "edge" VALUES(7549747200003766951,7549747200003766950,'verified',1);
INSERT INTO "edge" VALUES(7549747200003766951,7549747200003766952,'candidate',1);
INSERT INTO "edge" VALUES(7549747200003766953,7549747200003766952,'closed',1);
INSERT INTO "edge" VALUES(7549747200003766956,7549747200003766955,'verified',1);
INSERT INTO "edge" VALUES(7549747200003766956,7549747200003766958,'verified',1);
INSERT INTO "edge" VALUES(7549747200003766956,7549762299494927400,'verified',0);
INSERT INTO "edge" VALUES(7549747200003766956,7549762299497487717,'verified',0);
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
INSERT INTO "event" VALUES(1,1,7549747200003766950,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766950,"campaign_id":1,"key":"built","raw_key":"built","role":"work","root_id":null,"title":"built","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"0fbbe14ec826b865e1481132cafc6653a09b9cd2646a638a1ab347250a8157cc","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(2,1,7549747200003766951,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766951,"campaign_id":1,"key":"after","raw_key":"after","role":"work","root_id":null,"title":"after","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":2,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"ee7f013788362d8a393c3208040680769b9d15c34c3858a5cad2210f6ed209d4","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(3,1,7549747200003766952,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766952,"campaign_id":1,"key":"tried","raw_key":"tried","role":"work","root_id":null,"title":"tried","family":"page","subject":"/","priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"ed40caebed9d04ee9ebeea07bd99976adff0f27c739f9ddbb0db468b2e11ffa5","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(4,1,7549747200003766953,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766953,"campaign_id":1,"key":"newer","raw_key":"newer","role":"work","root_id":null,"title":"newer","family":"page","subject":"/","priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":1,"gated":true,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"a1012806adc0c94ee52fdbf3dc8bfab7ef12844da0d5032e4b775b6a0535bf26","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(5,1,7549747200003766954,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766954,"campaign_id":1,"key":"seen","raw_key":"seen","role":"work","root_id":null,"title":"seen","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"fe20c2fd59f08c28ffdc5ef354f8f3b178347681f3f52c2d9aed9baaf519edfa","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(6,1,7549747200003766955,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766955,"campaign_id":1,"key":"ends","raw_key":"ends","role":"work","root_id":null,"title":"ends","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"a9352b94bc65cc0b0c5cefe1f567655b12bd58da6a2b2d7f346c7596f63c4a2b","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(7,1,7549747200003766956,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766956,"campaign_id":1,"key":"waits","raw_key":"waits","role":"work","root_id":null,"title":"waits","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":2,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"dcd0ef73ebfd7a3c234bc8b7b38b08b83e84061a989333853c2a5e204cc935f0","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(8,1,7549747200003766957,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766957,"campaign_id":1,"key":"unwanted","raw_key":"unwanted","role":"work","root_id":null,"title":"unwanted","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"56b6521b42ca195dca00678cf707141d9e1fb8e7f34d376327fbf3424e27e3c6","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(9,1,7549747200003766958,1,955785652124396,1800000000000000,'add_items','ann',0,'{"id":7549747200003766958,"campaign_id":1,"key":"fails","raw_key":"fails","role":"work","root_id":null,"title":"fails","family":null,"subject":null,"priority":100,"verification":"none","lease_us":1800000000,"attempts_max":1,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"bfd64c6210338a3387ec2c96c6532f7acafcbf44619b999fc3e1ea70ce61ffaf","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(10,1,7549747200003766950,2,272327703087699471,1800000000000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(11,1,7549747200003766950,3,2624139654703080959,1800000000000000,'complete','ann',1,'{"state":"candidate","attempts":1,"round":1,"verifiers":1,"candidate_sha":"0000000000000000000000000000000000000001"}','{"candidate":"0000000000000000000000000000000000000001"}');
INSERT INTO "event" VALUES(12,1,7549747200003980451,1,2624139654703080959,1800000000000000,'complete','ann',0,'{"id":7549747200003980451,"campaign_id":1,"key":"built~v1","raw_key":"built~v1","role":"verify","root_id":7549747200003766950,"title":"built","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800019440000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"18cb0a09ee23d4d44de95abc43f9f815ad754dfb8b120cd8af4ad554450f293f","round":1,"verifiers":0,"rejections":0,"candidate_sha":"0000000000000000000000000000000000000001","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"built"}');
INSERT INTO "event" VALUES(13,1,7549747200003980451,2,4047274175763531663,1800000000000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"checker","executor":"loop/checker"}');
INSERT INTO "event" VALUES(14,1,7549747200003980451,3,1094109617864948857,1800000000000000,'complete','ann',1,'{"state":"succeeded","attempts":1,"ended_at":1800000000000000}','{"verdict":"rejected"}');
INSERT INTO "event" VALUES(15,1,7549747200003766950,4,1094109617864948857,1800000000000000,'complete','ann',1,'{"state":"repairing","rejections":1}','{"verdict":"rejected","executor":"loop/checker"}');
INSERT INTO "event" VALUES(16,1,7549747200002850902,1,1094109617864948857,1800000000000000,'complete','ann',0,'{"id":7549747200002850902,"campaign_id":1,"key":"built~r1","raw_key":"built~r1","role":"repair","root_id":7549747200003766950,"title":"built","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800019440000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"35a960514adfea2c04e12f6ba826b782388197d07942adb7f2beb4138aca14dd","round":1,"verifiers":0,"rejections":0,"candidate_sha":"0000000000000000000000000000000000000001","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"built"}');
INSERT INTO "event" VALUES(17,1,7549747200002850902,2,1125985586439829435,1800000000000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(18,1,7549747200002850902,3,2230293155104035763,1800000000000000,'complete','ann',1,'{"state":"succeeded","attempts":1,"ended_at":1800000000000000}','{"ref":"0000000000000000000000000000000000000002"}');
INSERT INTO "event" VALUES(19,1,7549747200003766950,5,2230293155104035763,1800000000000000,'complete','ann',1,'{"state":"candidate","round":2,"verifiers":2,"candidate_sha":"0000000000000000000000000000000000000002"}','{"candidate":"0000000000000000000000000000000000000002"}');
INSERT INTO "event" VALUES(20,1,7549747200001076426,1,2230293155104035763,1800000000000000,'complete','ann',0,'{"id":7549747200001076426,"campaign_id":1,"key":"built~v2","raw_key":"built~v2","role":"verify","root_id":7549747200003766950,"title":"built","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800019440000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"675504da4222c269bf66463a4b55f5a757acde16bd22e7a48e43292676fe1e82","round":2,"verifiers":0,"rejections":0,"candidate_sha":"0000000000000000000000000000000000000002","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"built"}');
INSERT INTO "event" VALUES(21,1,7549747200001076426,2,1931825307022927965,1800000000000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"checker","executor":"loop/checker"}');
INSERT INTO "event" VALUES(22,1,7549747200001076426,3,1137341481954949317,1800000000000000,'complete','ann',1,'{"state":"succeeded","attempts":1,"ended_at":1800000000000000}','{"verdict":"passed"}');
INSERT INTO "event" VALUES(23,1,7549747200003766950,6,1137341481954949317,1800000000000000,'complete','ann',1,'{"state":"succeeded","ended_at":1800000000000000}','{"verdict":"passed","executor":"loop/checker"}');
INSERT INTO "event" VALUES(24,1,7549747200003766951,2,1137341481954949317,1800000000000000,'complete','ann',0,'{"blockers":1}','{"unblocked_by":7549747200003766950}');
INSERT INTO "event" VALUES(25,1,7549747200003974287,1,3466173990343945307,1800000000000000,'record_fact','loop',0,'{"id":7549747200003974287,"campaign_id":1,"key":"built~g1","raw_key":"built~g1","role":"work","root_id":null,"title":"built","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800000000000000,"created_by":"loop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800000000000000,"rank":1800021600000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"0fbbe14ec826b865e1481132cafc6653a09b9cd2646a638a1ab347250a8157cc","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"successor_of":"built","reason":"red after landing: m2"}');
INSERT INTO "event" VALUES(26,1,7549747200003766952,2,3532889699944936314,1800000000000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(27,1,7549747200003766952,3,116882205853326910,1800000000000000,'retry','ann',1,'{"state":"pending","attempts":1}','{"failed":"test","cause":"typo","next_action":"fix it"}');
INSERT INTO "event" VALUES(28,1,7549747200003766952,4,2281531033656154014,1800000000000000,'claim','loop',2,'{"state":"in_progress","fence":2}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(29,1,7549747200003766952,5,2905132793242310779,1800000000000000,'release','ann',2,'{"state":"pending","free_releases":1}','{"reason":""}');
INSERT INTO "event" VALUES(30,1,7549747200003766952,6,2160084951912253845,1800000000000000,'claim','loop',3,'{"state":"in_progress","fence":3}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(31,1,7549747200003766952,7,120919988658648420,1800000000000000,'release','loop',3,'{"state":"pending","infra":1}','{"reason":""}');
INSERT INTO "event" VALUES(32,1,7549747200003766952,8,2920956676410892925,1800000000000000,'claim','loop',4,'{"state":"in_progress","fence":4}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(33,1,7549747200003766952,9,537852493667145977,1800000000000000,'defer','ann',4,'{"state":"deferred","parked_as":"spend-money","resume_state":"pending"}','{"boundary":"spend-money","asks":"May I?"}');
INSERT INTO "event" VALUES(34,1,7549747200003766952,10,4495485598078023265,1800000000000000,'answer','ann',4,'{"state":"pending","contract_version":2,"contract_hash":"c04963f5888c74cc78f16fa2e87cd017536d0ef995a5e600d542231c28eeee27","parked_as":null,"resume_state":null}','{"answered":"spend-money"}');
INSERT INTO "event" VALUES(35,1,7549747200003766952,11,3378134034344272894,1800000000000000,'park_item','loop',4,'{"state":"deferred","parked_as":"no_progress","resume_state":"pending"}','{"brake":"no_progress"}');
INSERT INTO "event" VALUES(36,1,7549747200003766952,12,1175450863363403841,1800000000000000,'answer','ann',4,'{"state":"pending","contract_version":3,"contract_hash":"fe87295663cbcc03503f35ecac17e319852bd47067ea3b723a7d08946947721a","parked_as":null,"resume_state":null}','{"answered":"no_progress"}');
INSERT INTO "event" VALUES(37,1,7549747200003766952,13,4393112168522933956,1800000000000000,'claim','loop',5,'{"state":"in_progress","fence":5}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(38,1,7549747200003766952,14,1768244811349600675,1800003600000000,'tend','loop',5,'{"state":"pending","expiries":1}','{"reason":"lease expired"}');
INSERT INTO "event" VALUES(39,1,7549747200003766952,15,2663166321994474373,1800003600000000,'claim','loop',6,'{"state":"in_progress","fence":6}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(40,1,7549747200003766952,16,1056867561521185975,1800003600000000,'complete','ann',6,'{"state":"candidate","attempts":2,"round":1,"verifiers":1,"candidate_sha":"0000000000000000000000000000000000000003"}','{"candidate":"0000000000000000000000000000000000000003"}');
INSERT INTO "event" VALUES(41,1,7549762299497437588,1,1056867561521185975,1800003600000000,'complete','ann',0,'{"id":7549762299497437588,"campaign_id":1,"key":"tried~v1","raw_key":"tried~v1","role":"verify","root_id":7549747200003766952,"title":"tried","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003600000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003600000000,"rank":1800023040000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"e8bcc1b55c576de987095b68c5ac548380895f70f7ad016aa229e58350c0636d","round":1,"verifiers":0,"rejections":0,"candidate_sha":"0000000000000000000000000000000000000003","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"tried"}');
INSERT INTO "event" VALUES(42,1,7549747200003766951,3,1056867561521185975,1800003600000000,'complete','ann',0,'{"blockers":0,"ready_at":1800003600000000,"rank":1800025200000000}','{"unblocked_by":7549747200003766952}');
INSERT INTO "event" VALUES(43,1,7549762299497437588,2,4469065782093634061,1800003600000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"checker","executor":"loop/checker"}');
INSERT INTO "event" VALUES(44,1,7549762299497437588,3,1186305559926732634,1800003600000000,'complete','ann',1,'{"state":"pending","attempts":1}','{"verdict":"inconclusive","reason":"no device"}');
INSERT INTO "event" VALUES(45,1,7549762299497437588,4,3946925135125133379,1800003600000000,'park_item','loop',1,'{"state":"cancelled","ended_at":1800003600000000}','{"reason":"tried was parked"}');
INSERT INTO "event" VALUES(46,1,7549747200003766952,17,3946925135125133379,1800003600000000,'park_item','loop',6,'{"state":"deferred","parked_as":"no_progress","resume_state":"candidate"}','{"brake":"no_progress"}');
INSERT INTO "event" VALUES(47,1,7549747200003766952,18,1203202038972911133,1800003600000000,'answer','ann',6,'{"contract_version":4,"contract_hash":"7b0d7017d04436100ed668425db22d3d5bee0461250460041eba8a0da6147770"}','{"answered":"no_progress"}');
INSERT INTO "event" VALUES(48,1,7549747200003766952,19,1203202038972911133,1800003600000000,'answer','ann',6,'{"state":"candidate","verifiers":2,"parked_as":null,"resume_state":null}','{}');
INSERT INTO "event" VALUES(49,1,7549762299496759251,1,1203202038972911133,1800003600000000,'answer','ann',0,'{"id":7549762299496759251,"campaign_id":1,"key":"tried~v2","raw_key":"tried~v2","role":"verify","root_id":7549747200003766952,"title":"tried","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003600000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003600000000,"rank":1800023040000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"19c041e96afe90b977393ef2626ba588d4d98142855a711add8d112e7b6bb7d1","round":2,"verifiers":0,"rejections":0,"candidate_sha":"0000000000000000000000000000000000000003","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"tried"}');
INSERT INTO "event" VALUES(50,1,7549762299496759251,2,702115453507135667,1800003600000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"checker","executor":"loop/checker"}');
INSERT INTO "event" VALUES(51,1,7549762299496759251,3,1792501244153920958,1800003600000000,'complete','ann',1,'{"state":"succeeded","attempts":1,"ended_at":1800003600000000}','{"verdict":"passed"}');
INSERT INTO "event" VALUES(52,1,7549747200003766952,20,1792501244153920958,1800003600000000,'complete','ann',6,'{"state":"succeeded","ended_at":1800003600000000}','{"verdict":"passed","executor":"loop/checker"}');
INSERT INTO "event" VALUES(53,1,7549747200003766953,2,1792501244153920958,1800003600000000,'complete','ann',0,'{"blockers":0,"gated":false,"ready_at":1800003600000000,"rank":1800025200000000}','{"unblocked_by":7549747200003766952}');
INSERT INTO "event" VALUES(54,1,7549747200003766954,2,4276900362698691225,1800003600000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(55,1,7549747200003766954,3,3954986492025378002,1800003600000000,'complete','ann',1,'{"state":"candidate","attempts":1,"round":1,"verifiers":1,"candidate_sha":"0000000000000000000000000000000000000004"}','{"candidate":"0000000000000000000000000000000000000004"}');
INSERT INTO "event" VALUES(56,1,7549762299494846797,1,3954986492025378002,1800003600000000,'complete','ann',0,'{"id":7549762299494846797,"campaign_id":1,"key":"seen~v1","raw_key":"seen~v1","role":"verify","root_id":7549747200003766954,"title":"seen","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003600000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003600000000,"rank":1800023040000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"bc2e38866b8c5b7a98634c7d6952fa35848fa9d94bae1fc2637c80b39734f9bc","round":1,"verifiers":0,"rejections":0,"candidate_sha":"0000000000000000000000000000000000000004","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"seen"}');
INSERT INTO "event" VALUES(57,1,7549747200003766955,2,3620245663495205846,1800003600000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(58,1,7549762299497487717,1,1837873692876202091,1800003600000000,'add_items','session',0,'{"id":7549762299497487717,"campaign_id":1,"key":"idea","raw_key":"idea","role":"work","root_id":null,"title":"idea","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003600000000,"created_by":"session","state":"proposed","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003600000000,"rank":1800025200000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"e3c96f2ec9c3f153ca98b14ae8d62ae89853359fe5de82a582472c2ab650ca06","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(59,1,7549762299497487717,2,2530924779445174474,1800003600000000,'promote','ann',0,'{"state":"pending"}','{}');
INSERT INTO "event" VALUES(60,1,7549747200003766955,3,1802579394963690285,1800003600000000,'supersede','ann',1,'{"state":"superseded","replaced_by":7549762299497487717,"ended_at":1800003600000000}','{"reason":"better"}');
INSERT INTO "event" VALUES(61,1,7549747200003766957,2,865561437203151874,1800003600000000,'cancel','ann',0,'{"state":"cancelled","ended_at":1800003600000000}','{"reason":"no"}');
INSERT INTO "event" VALUES(62,1,7549747200003766958,2,1119224208964671416,1800003600000000,'claim','loop',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"loop/builder"}');
INSERT INTO "event" VALUES(63,1,7549747200003766958,3,3791703394520446267,1800003600000000,'retry','ann',1,'{"state":"failed","attempts":1,"ended_at":1800003600000000}','{"failed":"test","cause":"typo","next_action":"fix it","exhausted":"attempts"}');
INSERT INTO "event" VALUES(64,1,7549762299494927400,1,1365845097427116920,1800003600000000,'retry','ann',0,'{"id":7549762299494927400,"campaign_id":1,"key":"fails~again1","raw_key":"fails~again1","role":"work","root_id":null,"title":"fails","family":null,"subject":null,"priority":100,"verification":"none","lease_us":1800000000,"attempts_max":1,"expiries_max":5,"rounds_max":3,"created_at":1800003600000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003600000000,"rank":1800025200000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"bfd64c6210338a3387ec2c96c6532f7acafcbf44619b999fc3e1ea70ce61ffaf","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"successor_of":"fails","reason":"once more"}');
INSERT INTO "event" VALUES(65,1,7549762299494846797,2,1201690804433354070,1800003600000000,'verify','loop',1,'{"state":"in_progress","fence":1}','{"holder":"last","executor":"loop/last"}');
INSERT INTO "event" VALUES(66,1,7549762299498265507,1,259144717282972529,1800003600000000,'add_items','ann',0,'{"id":7549762299498265507,"campaign_id":1,"key":"chance","raw_key":"chance","role":"work","root_id":null,"title":"chance","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003600000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003600000000,"rank":1800025200000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"08311856df34cd51690c8b4abeb9d3f05c37250d33713ae0f1269f8446375cf1","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(67,1,7549762299498265507,2,1968491443057698973,1800003600000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"ann/builder"}');
INSERT INTO "event" VALUES(68,1,7549762299498265507,3,4275789462196175944,1800003600000000,'complete','ann',1,'{"state":"candidate","attempts":1,"round":1,"verifiers":1,"candidate_sha":"000000000000000000000000000000000000000b"}','{"candidate":"000000000000000000000000000000000000000b"}');
INSERT INTO "event" VALUES(69,1,7549762299498346593,1,4275789462196175944,1800003600000000,'complete','ann',0,'{"id":7549762299498346593,"campaign_id":1,"key":"chance~v1","raw_key":"chance~v1","role":"verify","root_id":7549762299498265507,"title":"chance","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003600000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003600000000,"rank":1800023040000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"166abe6f35b3cd16de55302d5f2e3927d79656d2552261e1b9828fe6d344b762","round":1,"verifiers":0,"rejections":0,"candidate_sha":"000000000000000000000000000000000000000b","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"chance"}');
INSERT INTO "event" VALUES(70,1,7549762299498346593,2,3701642208600565675,1800003600000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"one","executor":"ann/one"}');
INSERT INTO "event" VALUES(71,1,7549762299498346593,3,1022518616712310617,1800003601000000,'complete','ann',1,'{"state":"pending","ready_at":1800003601000000,"rank":1800023041000000,"attempts":1}','{"verdict":"inconclusive","reason":"the device is not here"}');
INSERT INTO "event" VALUES(72,1,7549762299498346593,4,1562731073688825364,1800003601000000,'claim','ann',2,'{"state":"in_progress","fence":2}','{"holder":"two","executor":"ann/two"}');
INSERT INTO "event" VALUES(73,1,7549762299498346593,5,982418799915536266,1800003602000000,'complete','ann',2,'{"state":"pending","ready_at":1800003602000000,"rank":1800023042000000,"attempts":2}','{"verdict":"inconclusive","reason":"the device is not here"}');
INSERT INTO "event" VALUES(74,1,7549762307884456047,1,1771192538507065841,1800003602000000,'add_items','ann',0,'{"id":7549762307884456047,"campaign_id":1,"key":"excused","raw_key":"excused","role":"work","root_id":null,"title":"excused","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003602000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003602000000,"rank":1800025202000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"86bdc1fbcfdfe9bfe045b13483eb6e7340e0ce22887ebe8c6cfdc80d80af52e3","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(75,1,7549762307884456047,2,3245690780241682547,1800003602000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"ann/builder"}');
INSERT INTO "event" VALUES(76,1,7549762307884456047,3,2578867857924825844,1800003602000000,'complete','ann',1,'{"state":"candidate","attempts":1,"round":1,"verifiers":1,"candidate_sha":"000000000000000000000000000000000000000c"}','{"candidate":"000000000000000000000000000000000000000c"}');
INSERT INTO "event" VALUES(77,1,7549762307886014874,1,2578867857924825844,1800003602000000,'complete','ann',0,'{"id":7549762307886014874,"campaign_id":1,"key":"excused~v1","raw_key":"excused~v1","role":"verify","root_id":7549762307884456047,"title":"excused","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003602000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003602000000,"rank":1800023042000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"596a763590b778812d7d13c0281193ca01fd438ee0e8f42cec13e68dcbc1d221","round":1,"verifiers":0,"rejections":0,"candidate_sha":"000000000000000000000000000000000000000c","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"excused"}');
INSERT INTO "event" VALUES(78,1,7549762307886014874,2,1459519755458468122,1800003602000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"one","executor":"ann/one"}');
INSERT INTO "event" VALUES(79,1,7549762307886014874,3,3767226632016957443,1800003603000000,'complete','ann',1,'{"state":"pending","ready_at":1800003603000000,"rank":1800023043000000,"attempts":1}','{"verdict":"inconclusive","reason":"the device is not here"}');
INSERT INTO "event" VALUES(80,1,7549762307886014874,4,3921547423547463378,1800003604000000,'park_item','loop',1,'{"state":"cancelled","ended_at":1800003604000000}','{"reason":"excused was parked"}');
INSERT INTO "event" VALUES(81,1,7549762307884456047,4,3921547423547463378,1800003604000000,'park_item','loop',1,'{"state":"deferred","parked_as":"no_progress","resume_state":"candidate"}','{"brake":"no_progress"}');
INSERT INTO "event" VALUES(82,1,7549762307884456047,5,2078189716675750269,1800003604000000,'answer','ann',1,'{"contract_version":2,"contract_hash":"9ed425544d84d441d6733526e6f22f6ff39ee9c831548bee61ae8550d12787ef"}','{"answered":"no_progress"}');
INSERT INTO "event" VALUES(83,1,7549762307884456047,6,2078189716675750269,1800003604000000,'answer','ann',1,'{"state":"candidate","verifiers":2,"parked_as":null,"resume_state":null}','{}');
INSERT INTO "event" VALUES(84,1,7549762316273033464,1,2078189716675750269,1800003604000000,'answer','ann',0,'{"id":7549762316273033464,"campaign_id":1,"key":"excused~v2","raw_key":"excused~v2","role":"verify","root_id":7549762307884456047,"title":"excused","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003604000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003604000000,"rank":1800023044000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"6bd197078aa2540c76594fb1dfc56b1f25451f0b91ce2eaefb0e5563e24f788e","round":2,"verifiers":0,"rejections":0,"candidate_sha":"000000000000000000000000000000000000000c","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"excused"}');
INSERT INTO "event" VALUES(85,1,7549762316273033464,2,2584434183756147721,1800003605000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"two","executor":"ann/two"}');
INSERT INTO "event" VALUES(86,1,7549762316273033464,3,748628009959543675,1800003606000000,'complete','ann',1,'{"state":"succeeded","attempts":1,"ended_at":1800003606000000}','{"verdict":"passed"}');
INSERT INTO "event" VALUES(87,1,7549762307884456047,7,748628009959543675,1800003606000000,'complete','ann',1,'{"state":"succeeded","ended_at":1800003606000000}','{"verdict":"passed","executor":"ann/two"}');
INSERT INTO "event" VALUES(88,1,7549762324661263087,1,4570904875989288261,1800003606000000,'add_items','ann',0,'{"id":7549762324661263087,"campaign_id":1,"key":"unrun","raw_key":"unrun","role":"work","root_id":null,"title":"unrun","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003606000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003606000000,"rank":1800025206000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"d1961b73d4da6b7271cad47ec7dff81591b92d605d431db45c23165d1237a567","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(89,1,7549762324661263087,2,2921655154031041472,1800003606000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"ann/builder"}');
INSERT INTO "event" VALUES(90,1,7549762324661263087,3,3814568499944248093,1800003606000000,'complete','ann',1,'{"state":"candidate","attempts":1,"round":1,"verifiers":1,"candidate_sha":"000000000000000000000000000000000000000d"}','{"candidate":"000000000000000000000000000000000000000d"}');
INSERT INTO "event" VALUES(91,1,7549762324662847039,1,3814568499944248093,1800003606000000,'complete','ann',0,'{"id":7549762324662847039,"campaign_id":1,"key":"unrun~v1","raw_key":"unrun~v1","role":"verify","root_id":7549762324661263087,"title":"unrun","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003606000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003606000000,"rank":1800023046000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"d4428779526329e1bda78843787430793675cfab858654f5b69c3677a1a13b61","round":1,"verifiers":0,"rejections":0,"candidate_sha":"000000000000000000000000000000000000000d","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"unrun"}');
INSERT INTO "event" VALUES(92,1,7549762324662847039,2,307569832532668145,1800003606000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"one","executor":"ann/one"}');
INSERT INTO "event" VALUES(93,1,7549762324662847039,3,1270341047485139663,1800003607000000,'complete','ann',1,'{"state":"pending","ready_at":1800003607000000,"rank":1800023047000000,"attempts":1}','{"verdict":"inconclusive","reason":"the device is not here"}');
INSERT INTO "event" VALUES(94,1,7549762324662847039,4,4589215156393897029,1800003607000000,'claim','ann',2,'{"state":"in_progress","fence":2}','{"holder":"two","executor":"ann/two"}');
INSERT INTO "event" VALUES(95,1,7549762324662847039,5,4560303574820366225,1800003608000000,'complete','ann',2,'{"state":"succeeded","attempts":2,"ended_at":1800003608000000}','{"verdict":"passed"}');
INSERT INTO "event" VALUES(96,1,7549762324661263087,4,4560303574820366225,1800003608000000,'complete','ann',1,'{"state":"succeeded","ended_at":1800003608000000}','{"verdict":"passed","executor":"ann/two"}');
INSERT INTO "event" VALUES(97,1,7549762333050688776,1,1231813040218900298,1800003608000000,'add_items','ann',0,'{"id":7549762333050688776,"campaign_id":1,"key":"judged","raw_key":"judged","role":"work","root_id":null,"title":"judged","family":null,"subject":null,"priority":100,"verification":"both","lease_us":1800000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003608000000,"created_by":"ann","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003608000000,"rank":1800025208000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"d0870f16ea2095e35b3d4a84e30338eaf0498e003fed43fa8d20e3701f095bb7","round":0,"verifiers":0,"rejections":0,"candidate_sha":null,"parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{}');
INSERT INTO "event" VALUES(98,1,7549762333050688776,2,2123941427305077018,1800003608000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"builder","executor":"ann/builder"}');
INSERT INTO "event" VALUES(99,1,7549762333050688776,3,1051267318690827191,1800003608000000,'complete','ann',1,'{"state":"candidate","attempts":1,"round":1,"verifiers":1,"candidate_sha":"000000000000000000000000000000000000000e"}','{"candidate":"000000000000000000000000000000000000000e"}');
INSERT INTO "event" VALUES(100,1,7549762333051759508,1,1051267318690827191,1800003608000000,'complete','ann',0,'{"id":7549762333051759508,"campaign_id":1,"key":"judged~v1","raw_key":"judged~v1","role":"verify","root_id":7549762333050688776,"title":"judged","family":null,"subject":null,"priority":90,"verification":"none","lease_us":1200000000,"attempts_max":5,"expiries_max":5,"rounds_max":3,"created_at":1800003608000000,"created_by":"workloop","state":"pending","blockers":0,"gated":false,"wake_at":null,"ready_at":1800003608000000,"rank":1800023048000000,"attempts":0,"expiries":0,"infra":0,"free_releases":0,"fence":0,"contract_version":1,"contract_hash":"dbff0b74e8fbe2939694c8c2600f48b953a8cd88e0fec8d989ba2888880b0b09","round":1,"verifiers":0,"rejections":0,"candidate_sha":"000000000000000000000000000000000000000e","parked_as":null,"resume_state":null,"replaced_by":null,"ended_at":null}','{"root":"judged"}');
INSERT INTO "event" VALUES(101,1,7549762333051759508,2,1809863448887976490,1800003608000000,'claim','ann',1,'{"state":"in_progress","fence":1}','{"holder":"three","executor":"ann/three"}');
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
INSERT INTO "evidence" VALUES(7549747200001076426,1,1,'receipt','check','log','suite',NULL,'passed',1800000000000000,NULL,'0000000000000000000000000000000000000002','none');
INSERT INTO "evidence" VALUES(7549747200001076426,1,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800000000000000,NULL,'0000000000000000000000000000000000000002','none');
INSERT INTO "evidence" VALUES(7549747200003766954,1,1,'claimed','url','http://localhost:3000/page','live',NULL,NULL,1800003600000000,1,NULL,'none');
INSERT INTO "evidence" VALUES(7549747200003980451,1,1,'receipt','check','log','suite',NULL,'passed',1800000000000000,NULL,'0000000000000000000000000000000000000001','none');
INSERT INTO "evidence" VALUES(7549747200003980451,1,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800000000000000,NULL,'0000000000000000000000000000000000000001','none');
INSERT INTO "evidence" VALUES(7549762299496759251,1,1,'receipt','check','log','suite',NULL,'passed',1800003600000000,NULL,'0000000000000000000000000000000000000003','none');
INSERT INTO "evidence" VALUES(7549762299496759251,1,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800003600000000,NULL,'0000000000000000000000000000000000000003','none');
INSERT INTO "evidence" VALUES(7549762299498346593,1,1,'receipt','check','log','suite',NULL,'failed: red',1800003601000000,NULL,'000000000000000000000000000000000000000b','none');
INSERT INTO "evidence" VALUES(7549762299498346593,1,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800003601000000,NULL,'000000000000000000000000000000000000000b','none');
INSERT INTO "evidence" VALUES(7549762299498346593,2,1,'receipt','check','log','suite',NULL,'passed',1800003602000000,NULL,'000000000000000000000000000000000000000b','none');
INSERT INTO "evidence" VALUES(7549762299498346593,2,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800003602000000,NULL,'000000000000000000000000000000000000000b','none');
INSERT INTO "evidence" VALUES(7549762307886014874,1,1,'receipt','check','log','suite',NULL,'flaky: flaky',1800003603000000,NULL,'000000000000000000000000000000000000000c','none');
INSERT INTO "evidence" VALUES(7549762307886014874,1,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800003603000000,NULL,'000000000000000000000000000000000000000c','none');
INSERT INTO "evidence" VALUES(7549762316273033464,1,1,'receipt','check','log','suite',NULL,'passed',1800003606000000,NULL,'000000000000000000000000000000000000000c','none');
INSERT INTO "evidence" VALUES(7549762316273033464,1,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800003606000000,NULL,'000000000000000000000000000000000000000c','none');
INSERT INTO "evidence" VALUES(7549762324662847039,1,1,'receipt','check','log','suite',NULL,'error: none',1800003607000000,NULL,'000000000000000000000000000000000000000d','none');
INSERT INTO "evidence" VALUES(7549762324662847039,1,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800003607000000,NULL,'000000000000000000000000000000000000000d','none');
INSERT INTO "evidence" VALUES(7549762324662847039,2,1,'receipt','check','log','suite',NULL,'passed',1800003608000000,NULL,'000000000000000000000000000000000000000d','none');
INSERT INTO "evidence" VALUES(7549762324662847039,2,2,'claimed','url','https://ci.example/run/7',NULL,NULL,NULL,1800003608000000,NULL,'000000000000000000000000000000000000000d','none');
INSERT INTO "evidence" VALUES(7549762333051759508,1,1,'receipt','check','log','suite',NULL,'passed',1800003609000000,NULL,'000000000000000000000000000000000000000e','none');
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
INSERT INTO "fact" VALUES(7549747200003766950,1,'landed','m1',1800000000000000,'loop');
INSERT INTO "fact" VALUES(7549747200003766950,2,'red_after_landing','m2',1800000000000000,'loop');
INSERT INTO "fact" VALUES(7549747200003766950,3,'succeeded_by','built~g1',1800000000000000,'loop');
INSERT INTO "fact" VALUES(7549747200003766958,1,'succeeded_by','fails~again1',1800003600000000,'ann');
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
INSERT INTO "item" VALUES(7549747200001076426,1,'built~v2','built~v2','verify',7549747200003766950,'built',NULL,NULL,90,'none',1200000000,5,5,3,1800000000000000,'workloop','succeeded',0,0,NULL,1800000000000000,1800019440000000,1,0,0,0,1,NULL,1,'675504da4222c269bf66463a4b55f5a757acde16bd22e7a48e43292676fe1e82',2,0,0,'0000000000000000000000000000000000000002',NULL,NULL,NULL,1800000000000000,3);
INSERT INTO "item" VALUES(7549747200002850902,1,'built~r1','built~r1','repair',7549747200003766950,'built',NULL,NULL,90,'none',1800000000,5,5,3,1800000000000000,'workloop','succeeded',0,0,NULL,1800000000000000,1800019440000000,1,0,0,0,1,NULL,1,'35a960514adfea2c04e12f6ba826b782388197d07942adb7f2beb4138aca14dd',1,0,0,'0000000000000000000000000000000000000001',NULL,NULL,NULL,1800000000000000,3);
INSERT INTO "item" VALUES(7549747200003766950,1,'built','built','work',NULL,'built',NULL,NULL,100,'both',1800000000,5,5,3,1800000000000000,'ann','succeeded',0,0,NULL,1800000000000000,1800021600000000,1,0,0,0,1,NULL,1,'0fbbe14ec826b865e1481132cafc6653a09b9cd2646a638a1ab347250a8157cc',2,2,1,'0000000000000000000000000000000000000002',NULL,NULL,NULL,1800000000000000,6);
INSERT INTO "item" VALUES(7549747200003766951,1,'after','after','work',NULL,'after',NULL,NULL,100,'both',1800000000,5,5,3,1800000000000000,'ann','pending',0,0,NULL,1800003600000000,1800025200000000,0,0,0,0,0,NULL,1,'ee7f013788362d8a393c3208040680769b9d15c34c3858a5cad2210f6ed209d4',0,0,0,NULL,NULL,NULL,NULL,NULL,3);
INSERT INTO "item" VALUES(7549747200003766952,1,'tried','tried','work',NULL,'tried','page','/',100,'both',1800000000,5,5,3,1800000000000000,'ann','succeeded',0,0,NULL,1800000000000000,1800021600000000,2,1,1,1,6,NULL,4,'7b0d7017d04436100ed668425db22d3d5bee0461250460041eba8a0da6147770',1,2,0,'0000000000000000000000000000000000000003',NULL,NULL,NULL,1800003600000000,20);
INSERT INTO "item" VALUES(7549747200003766953,1,'newer','newer','work',NULL,'newer','page','/',100,'both',1800000000,5,5,3,1800000000000000,'ann','pending',0,0,NULL,1800003600000000,1800025200000000,0,0,0,0,0,NULL,1,'a1012806adc0c94ee52fdbf3dc8bfab7ef12844da0d5032e4b775b6a0535bf26',0,0,0,NULL,NULL,NULL,NULL,NULL,2);
INSERT INTO "item" VALUES(7549747200003766954,1,'seen','seen','work',NULL,'seen',NULL,NULL,100,'both',1800000000,5,5,3,1800000000000000,'ann','candidate',0,0,NULL,1800000000000000,1800021600000000,1,0,0,0,1,NULL,1,'fe20c2fd59f08c28ffdc5ef354f8f3b178347681f3f52c2d9aed9baaf519edfa',1,1,0,'0000000000000000000000000000000000000004',NULL,NULL,NULL,NULL,3);
INSERT INTO "item" VALUES(7549747200003766955,1,'ends','ends','work',NULL,'ends',NULL,NULL,100,'both',1800000000,5,5,3,1800000000000000,'ann','superseded',0,0,NULL,1800000000000000,1800021600000000,0,0,0,0,1,NULL,1,'a9352b94bc65cc0b0c5cefe1f567655b12bd58da6a2b2d7f346c7596f63c4a2b',0,0,0,NULL,NULL,NULL,7549762299497487717,1800003600000000,3);
INSERT INTO "item" VALUES(7549747200003766956,1,'waits','waits','work',NULL,'waits',NULL,NULL,100,'both',1800000000,5,5,3,1800000000000000,'ann','pending',2,0,NULL,1800000000000000,1800021600000000,0,0,0,0,0,NULL,1,'dcd0ef73ebfd7a3c234bc8b7b38b08b83e84061a989333853c2a5e204cc935f0',0,0,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "item" VALUES(7549747200003766957,1,'unwanted','unwanted','work',NULL,'unwanted',NULL,NULL,100,'both',1800000000,5,5,3,1800000000000000,'ann','cancelled',0,0,NULL,1800000000000000,1800021600000000,0,0,0,0,0,NULL,1,'56b6521b42ca195dca00678cf707141d9e1fb8e7f34d376327fbf3424e27e3c6',0,0,0,NULL,NULL,NULL,NULL,1800003600000000,2);
INSERT INTO "item" VALUES(7549747200003766958,1,'fails','fails','work',NULL,'fails',NULL,NULL,100,'none',1800000000,1,5,3,1800000000000000,'ann','failed',0,0,NULL,1800000000000000,1800021600000000,1,0,0,0,1,NULL,1,'bfd64c6210338a3387ec2c96c6532f7acafcbf44619b999fc3e1ea70ce61ffaf',0,0,0,NULL,NULL,NULL,NULL,1800003600000000,3);
INSERT INTO "item" VALUES(7549747200003974287,1,'built~g1','built~g1','work',NULL,'built',NULL,NULL,100,'both',1800000000,5,5,3,1800000000000000,'loop','pending',0,0,NULL,1800000000000000,1800021600000000,0,0,0,0,0,NULL,1,'0fbbe14ec826b865e1481132cafc6653a09b9cd2646a638a1ab347250a8157cc',0,0,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "item" VALUES(7549747200003980451,1,'built~v1','built~v1','verify',7549747200003766950,'built',NULL,NULL,90,'none',1200000000,5,5,3,1800000000000000,'workloop','succeeded',0,0,NULL,1800000000000000,1800019440000000,1,0,0,0,1,NULL,1,'18cb0a09ee23d4d44de95abc43f9f815ad754dfb8b120cd8af4ad554450f293f',1,0,0,'0000000000000000000000000000000000000001',NULL,NULL,NULL,1800000000000000,3);
INSERT INTO "item" VALUES(7549762299494846797,1,'seen~v1','seen~v1','verify',7549747200003766954,'seen',NULL,NULL,90,'none',1200000000,5,5,3,1800003600000000,'workloop','in_progress',0,0,NULL,1800003600000000,1800023040000000,0,0,0,0,1,1800004800000000,1,'bc2e38866b8c5b7a98634c7d6952fa35848fa9d94bae1fc2637c80b39734f9bc',1,0,0,'0000000000000000000000000000000000000004',NULL,NULL,NULL,NULL,2);
INSERT INTO "item" VALUES(7549762299494927400,1,'fails~again1','fails~again1','work',NULL,'fails',NULL,NULL,100,'none',1800000000,1,5,3,1800003600000000,'ann','pending',0,0,NULL,1800003600000000,1800025200000000,0,0,0,0,0,NULL,1,'bfd64c6210338a3387ec2c96c6532f7acafcbf44619b999fc3e1ea70ce61ffaf',0,0,0,NULL,NULL,NULL,NULL,NULL,1);
INSERT INTO "item" VALUES(7549762299496759251,1,'tried~v2','tried~v2','verify',7549747200003766952,'tried',NULL,NULL,90,'none',1200000000,5,5,3,1800003600000000,'workloop','succeeded',0,0,NULL,1800003600000000,1800023040000000,1,0,0,0,1,NULL,1,'19c041e96afe90b977393ef2626ba588d4d98142855a711add8d112e7b6bb7d1',2,0,0,'0000000000000000000000000000000000000003',NULL,NULL,NULL,1800003600000000,3);
INSERT INTO "item" VALUES(7549762299497437588,1,'tried~v1','tried~v1','verify',7549747200003766952,'tried',NULL,NULL,90,'none',1200000000,5,5,3,1800003600000000,'workloop','cancelled',0,0,NULL,1800003600000000,1800023040000000,1,0,0,0,1,NULL,1,'e8bcc1b55c576de987095b68c5ac548380895f70f7ad016aa229e58350c0636d',1,0,0,'0000000000000000000000000000000000000003',NULL,NULL,NULL,1800003600000000,4);
INSERT INTO "item" VALUES(7549762299497487717,1,'idea','idea','work',NULL,'idea',NULL,NULL,100,'both',1800000000,5,5,3,1800003600000000,'session','pending',0,0,NULL,1800003600000000,1800025200000000,0,0,0,0,0,NULL,1,'e3c96f2ec9c3f153ca98b14ae8d62ae89853359fe5de82a582472c2ab650ca06',0,0,0,NULL,NULL,NULL,NULL,NULL,2);
INSERT INTO "item" VALUES(7549762299498265507,1,'chance','chance','work',NULL,'chance',NULL,NULL,100,'both',1800000000,5,5,3,1800003600000000,'ann','candidate',0,0,NULL,1800003600000000,1800025200000000,1,0,0,0,1,NULL,1,'08311856df34cd51690c8b4abeb9d3f05c37250d33713ae0f1269f8446375cf1',1,1,0,'000000000000000000000000000000000000000b',NULL,NULL,NULL,NULL,3);
INSERT INTO "item" VALUES(7549762299498346593,1,'chance~v1','chance~v1','verify',7549762299498265507,'chance',NULL,NULL,90,'none',1200000000,5,5,3,1800003600000000,'workloop','pending',0,0,NULL,1800003602000000,1800023042000000,2,0,0,0,2,NULL,1,'166abe6f35b3cd16de55302d5f2e3927d79656d2552261e1b9828fe6d344b762',1,0,0,'000000000000000000000000000000000000000b',NULL,NULL,NULL,NULL,5);
INSERT INTO "item" VALUES(7549762307884456047,1,'excused','excused','work',NULL,'excused',NULL,NULL,100,'both',1800000000,5,5,3,1800003602000000,'ann','succeeded',0,0,NULL,1800003602000000,1800025202000000,1,0,0,0,1,NULL,2,'9ed425544d84d441d6733526e6f22f6ff39ee9c831548bee61ae8550d12787ef',1,2,0,'000000000000000000000000000000000000000c',NULL,NULL,NULL,1800003606000000,7);
INSERT INTO "item" VALUES(7549762307886014874,1,'excused~v1','excused~v1','verify',7549762307884456047,'excused',NULL,NULL,90,'none',1200000000,5,5,3,1800003602000000,'workloop','cancelled',0,0,NULL,1800003603000000,1800023043000000,1,0,0,0,1,NULL,1,'596a763590b778812d7d13c0281193ca01fd438ee0e8f42cec13e68dcbc1d221',1,0,0,'000000000000000000000000000000000000000c',NULL,NULL,NULL,1800003604000000,4);
INSERT INTO "item" VALUES(7549762316273033464,1,'excused~v2','excused~v2','verify',7549762307884456047,'excused',NULL,NULL,90,'none',1200000000,5,5,3,1800003604000000,'workloop','succeeded',0,0,NULL,1800003604000000,1800023044000000,1,0,0,0,1,NULL,1,'6bd197078aa2540c76594fb1dfc56b1f25451f0b91ce2eaefb0e5563e24f788e',2,0,0,'000000000000000000000000000000000000000c',NULL,NULL,NULL,1800003606000000,3);
INSERT INTO "item" VALUES(7549762324661263087,1,'unrun','unrun','work',NULL,'unrun',NULL,NULL,100,'both',1800000000,5,5,3,1800003606000000,'ann','succeeded',0,0,NULL,1800003606000000,1800025206000000,1,0,0,0,1,NULL,1,'d1961b73d4da6b7271cad47ec7dff81591b92d605d431db45c23165d1237a567',1,1,0,'000000000000000000000000000000000000000d',NULL,NULL,NULL,1800003608000000,4);
INSERT INTO "item" VALUES(7549762324662847039,1,'unrun~v1','unrun~v1','verify',7549762324661263087,'unrun',NULL,NULL,90,'none',1200000000,5,5,3,1800003606000000,'workloop','succeeded',0,0,NULL,1800003607000000,1800023047000000,2,0,0,0,2,NULL,1,'d4428779526329e1bda78843787430793675cfab858654f5b69c3677a1a13b61',1,0,0,'000000000000000000000000000000000000000d',NULL,NULL,NULL,1800003608000000,5);
INSERT INTO "item" VALUES(7549762333050688776,1,'judged','judged','work',NULL,'judged',NULL,NULL,100,'both',1800000000,5,5,3,1800003608000000,'ann','candidate',0,0,NULL,1800003608000000,1800025208000000,1,0,0,0,1,NULL,1,'d0870f16ea2095e35b3d4a84e30338eaf0498e003fed43fa8d20e3701f095bb7',1,1,0,'000000000000000000000000000000000000000e',NULL,NULL,NULL,NULL,3);
INSERT INTO "item" VALUES(7549762333051759508,1,'judged~v1','judged~v1','verify',7549762333050688776,'judged',NULL,NULL,90,'none',1200000000,5,5,3,1800003608000000,'workloop','in_progress',0,0,NULL,1800003608000000,1800023048000000,0,0,0,0,1,1800004808000000,1,'dbff0b74e8fbe2939694c8c2600f48b953a8cd88e0fec8d989ba2888880b0b09',1,0,0,'000000000000000000000000000000000000000e',NULL,NULL,NULL,NULL,2);
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
INSERT INTO "lane" VALUES(1,'browser','free',2,NULL,NULL);
INSERT INTO "lane" VALUES(1,'db','free',0,NULL,NULL);
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
INSERT INTO "lane_grant" VALUES(1,'browser',1,7549747200003766954,1,1800003600000000,1800003600000000,'','0000000000000000000000000000000000000009','["http://localhost:3000","tab"]','["tab","http://localhost:3000"]');
INSERT INTO "lane_grant" VALUES(1,'browser',2,7549747200003766954,1,1800003600000000,1800003600000000,'','','[]','[]');
CREATE TABLE meta (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    store_id TEXT NOT NULL,
    secret BLOB NOT NULL CHECK (length(secret) = 32),
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO "meta" VALUES(1,'fa39aeb641f7000d',X'C0A52FB1A1E02957ADDD988D42D72FC4029168B46C6F14E8BF131F70D4F08F5A',1800000000000000);
CREATE TABLE migration (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL
) STRICT
;
INSERT INTO "migration" VALUES(1,'initial','0854eac8bd3a083a1118899950c14075fdb984a428389083f84f937d65031875',1800000000000000);
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
INSERT INTO "question" VALUES(7549747200003766952,1,1,'boundary','spend-money','May I?','','an answer is recorded','person','pending',1800000000000000,1800000000000000,'ann','yes');
INSERT INTO "question" VALUES(7549747200003766952,2,1,'brake','no_progress','What now?','','an answer is recorded','loop','pending',1800000000000000,1800000000000000,'ann','go on');
INSERT INTO "question" VALUES(7549747200003766952,3,1,'brake','no_progress','What now?','','an answer is recorded','loop','candidate',1800003600000000,1800003600000000,'ann','verify it again');
INSERT INTO "question" VALUES(7549762307884456047,1,1,'brake','no_progress','What now?','','an answer is recorded','loop','candidate',1800003604000000,1800003604000000,'ann','the machine was broken');
CREATE TABLE request (
    campaign_id INTEGER NOT NULL,
    principal TEXT NOT NULL,
    request_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    answer TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, principal, request_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "request" VALUES(1,'ann','acquire','88548b1cb6df2f92ba430fb5225d06dff94ab231c0eace327047cf3943a5f2af','{"lane": "browser", "state": "held", "grant": 1, "resources": []}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','acquire/2','88548b1cb6df2f92ba430fb5225d06dff94ab231c0eace327047cf3943a5f2af','{"lane": "browser", "state": "held", "grant": 2, "resources": []}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','add','f97cc86eb226d36b290309e9208a2133fc93ae4df7a47686b4da17586f5526a9','{"items": [{"key": "built", "result": "added", "state": "pending"}, {"key": "after", "result": "added", "state": "pending"}, {"key": "tried", "result": "added", "state": "pending"}, {"key": "newer", "result": "added", "state": "pending"}, {"key": "seen", "result": "added", "state": "pending"}, {"key": "ends", "result": "added", "state": "pending"}, {"key": "waits", "result": "added", "state": "pending"}, {"key": "unwanted", "result": "added", "state": "pending"}, {"key": "fails", "result": "added", "state": "pending"}], "added": 9, "unchanged": 0}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','again','f874698f1cc6356833f2b5c7c110be4284ef2d4624de8754995dac6958f3a7e3','{"key": "fails", "successor": "fails~again1", "state": "pending"}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','answer','4a38bcaccc5d09e617d41641d44e5a10010bf9d023916d65eb22eedb1965dc64','{"key": "tried", "state": "pending", "contract_hash": "c04963f5888c74cc78f16fa2e87cd017536d0ef995a5e600d542231c28eeee27"}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','answer/2','297f9d390857ae3aefef23f72b27c37eb9474e9dc835041bc8b9d19a9cd95ce1','{"key": "tried", "state": "pending", "contract_hash": "fe87295663cbcc03503f35ecac17e319852bd47067ea3b723a7d08946947721a"}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','answer/3','973b2dbda81dcd0b622692132941490ab3ea44909b9b67c3822b1b458f2bf6db','{"key": "tried", "state": "candidate", "contract_hash": "7b0d7017d04436100ed668425db22d3d5bee0461250460041eba8a0da6147770", "follow_up": {"key": "tried~v2", "role": "verify"}}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','beat','c18d919c13dbacacb4db5f776a4f1dc041838f5ad1fe3dd5aa37cde439539e77','{"key": "tried", "lease_until": "2027-01-15T08:30:00.000000Z", "beat_seconds": 600}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','build/built/1','4d9f318830b3dbcd6494a812649a3ca4ae1e7d7a53bfd6b16fecdcf527a297a8','{"key": "built", "state": "candidate", "follow_up": {"key": "built~v1", "role": "verify"}}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','build/built~r1/2','d5289a0ca51077428446ab541fb57f9160479cecb57c3dc4e990f2a8a1067f88','{"key": "built~r1", "state": "succeeded", "follow_up": {"key": "built~v2", "role": "verify"}, "root": {"key": "built", "state": "candidate"}}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','build/seen/4','059dfa15fe7171b446a446802df04ccdff795ff7c828296259b648de103b2fe9','{"key": "seen", "state": "candidate", "follow_up": {"key": "seen~v1", "role": "verify"}}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','build/tried/3','e9c50f3f037ccf26c22a9bf96d4efc27bb60fb007c5b245816fe20d8f0438a61','{"key": "tried", "state": "candidate", "follow_up": {"key": "tried~v1", "role": "verify"}}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','cancel','0dc534ddcc05204c0993a437b096b0cdae9da3d9fd69dba7052b5cb3b134db78','{"key": "unwanted", "state": "cancelled", "closed": ["unwanted"]}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','clean','2adbabee35c53b59a9274b420811e99fa8376b3feb175062e931fc99780809cf','{"lane": "browser", "state": "held", "grant": 1, "resources": ["http://localhost:3000"]}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','clean/2','5321052db9297114b093a86e8f5fce4d6442123ad501976e543f4b67a88feb41','{"lane": "browser", "state": "free", "grant": 1, "resources": []}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','defer','8ab400ad4ae235806641ad46daaaca70771063c21cad611cde7907a58a8b1fe4','{"key": "tried", "state": "deferred", "question": "May I?"}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','fail','4d87d07820880740cde6cc395478bc62ba840e90b44c62487e54a956c6bc3680','{"key": "fails", "state": "failed", "exhausted": true}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','give-back','9d23b5e78f9b168d443b42b96a5168e32c2d5bf246a98770364af38cb5881c19','{"lane": "browser", "state": "dirty", "grant": 1, "resources": ["http://localhost:3000"]}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','judge/built~v1','766c5beea1f079f13c061e1e99151ed12ab54881d35329d4449f7f8458b932cb','{"key": "built~v1", "state": "succeeded", "follow_up": {"key": "built~r1", "role": "repair"}, "root": {"key": "built", "state": "repairing"}}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','judge/built~v2','0dc950d1e66b30f1b2bbc44c5a645be6506540e968b6b4890dab0b9b90be3a98','{"key": "built~v2", "state": "succeeded", "follow_up": null, "root": {"key": "built", "state": "succeeded"}}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','judge/tried~v2','f72192e4a99e7cc3cecac277781c0794ef6b47581cb78b83bcef67433cf82b64','{"key": "tried~v2", "state": "succeeded", "follow_up": null, "root": {"key": "tried", "state": "succeeded"}}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','live','c4047d6db0db92b84b5b58b72516de5194969ea276992701276dd5212b278038','{"key": "seen", "kept": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','pause','2f96b36db08d614dd00718201374b989fac5c38a2906fd2db57b46963ce81a86','{"campaign": "night", "state": "paused", "until": null}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','promote','63c9cf9108c84c975a7a5fc5bbbb76521dc0be8267c6ff8e946ea80984b392f4','{"promoted": ["idea"]}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','record','672bbc5cc8e29e0b78008a50e634e23e0f2433ab08e8286aa9ab1fa39247cf12','{"lane": "browser", "state": "held", "grant": 1, "resources": ["http://localhost:3000", "tab"]}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','release','f74b3a7a763a1acba99d8e8f5b63a4d87e231c085dae0ec91c84a3bbba60e380','{"key": "tried", "state": "pending", "exhausted": false}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','resume','709f69534eee30fcc6e6365b790cd1467d2680abb828d2d6e058962d1bed3306','{"campaign": "night", "state": "active", "until": null}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','retry','17e0a95dfe160a4de66b14f66d406841e41440705cf2052432e2b6d2a70dfce6','{"key": "tried", "state": "pending", "exhausted": false}',1800000000000000);
INSERT INTO "request" VALUES(1,'ann','supersede','91066c61eb7e167ac35f50af8e05c49680efd2ab12e790da311f3934f6e49adf','{"key": "ends", "state": "superseded", "closed": ["ends"]}',1800003600000000);
INSERT INTO "request" VALUES(1,'ann','unsure','3cdbc31cef9cdae3953e96ec96410f7876f2275c197b3954e978ffaf14aa2e79','{"key": "tried~v1", "state": "pending", "exhausted": false}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','claim/built/1','a6a7f11e30574304b9d0ec1a972a0471ffb0ea87cb04263aea3fb33d898c4e3d','{"claim_of": "6hhgq2g03jyn6", "attempt": 1}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','claim/built~r1/2','785896ec7c4b165d6816cdfd15a2aacd213206e563d4230a8d4cb5806bb2f957','{"claim_of": "6hhgq2g02q02p", "attempt": 1}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','claim/built~v1','22c2ad6f745aaf73668d950a600493b29ff05369324314e5c9553ceb9cf18a9e','{"claim_of": "6hhgq2g03sf53", "attempt": 1}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','claim/built~v2','5c9ca1046531b21575b847b12bf34933b65c685a4650d2353206c3717792cbf5','{"claim_of": "6hhgq2g010v6a", "attempt": 1}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','claim/ends','6b6e150ada80e44bc1cf8afa997edda50ea55dedc46748f086030a53366097ae','{"claim_of": "6hhgq2g03jynb", "attempt": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','claim/fails','7d78a523f542b3da5fef316b28ad261aa3dbe8fe2056dca63647cd5866c67fbb','{"claim_of": "6hhgq2g03jyne", "attempt": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','claim/seen','d901bc1f83fbb2c7563d080afb5960b92487fbbd8816968874e95f7fc9d4ad54','{"claim_of": "6hhgq2g03jyna", "attempt": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','claim/seen/4','d901bc1f83fbb2c7563d080afb5960b92487fbbd8816968874e95f7fc9d4ad54','{"claim_of": "6hhgq2g03jyna", "attempt": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','claim/tried/3','e864a9737cb1476e37bb46fa2f60da1ec623ccc3d25e09c19e3a6f9a69934cf0','{"claim_of": "6hhgq2g03jyn8", "attempt": 6}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','claim/tried~v2','334f5af165a45759f0040e5d98d48bffe2fdb1034ab1a5d01eab15e2ec9dec3b','{"claim_of": "6hhh4syg27zyk", "attempt": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','hold/tried','e864a9737cb1476e37bb46fa2f60da1ec623ccc3d25e09c19e3a6f9a69934cf0','{"claim_of": "6hhgq2g03jyn8", "attempt": 1}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','hold/tried/2','e864a9737cb1476e37bb46fa2f60da1ec623ccc3d25e09c19e3a6f9a69934cf0','{"claim_of": "6hhgq2g03jyn8", "attempt": 2}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','hold/tried/3','e864a9737cb1476e37bb46fa2f60da1ec623ccc3d25e09c19e3a6f9a69934cf0','{"claim_of": "6hhgq2g03jyn8", "attempt": 3}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','hold/tried/4','e864a9737cb1476e37bb46fa2f60da1ec623ccc3d25e09c19e3a6f9a69934cf0','{"claim_of": "6hhgq2g03jyn8", "attempt": 4}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','hold/tried/5','e864a9737cb1476e37bb46fa2f60da1ec623ccc3d25e09c19e3a6f9a69934cf0','{"claim_of": "6hhgq2g03jyn8", "attempt": 5}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','hold/tried/unsure','51cb71a17380962ac124a3e7e9aef876f6e78b634fc4363aa1cdb6e1ab5ae97d','{"claim_of": "6hhh4syg2wpcm", "attempt": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','infra','837fe33f4dc157a3304c4d97bfcd48c13e18571cae9d3ced8264fd01cdf53b90','{"key": "tried", "state": "pending", "exhausted": false}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','receipt/built~v1','a904ab829e8ae218e2abc0d185684c7e9b65dc1c3f25adb570c8582b60c12570','{"key": "built~v1", "kept": 1}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','receipt/built~v2','aeb582731b1d33f122c5e0c74e382b56caabd954fe042b541fcdf930b883e8ec','{"key": "built~v2", "kept": 1}',1800000000000000);
INSERT INTO "request" VALUES(1,'loop','receipt/tried~v2','c847db44a7107ec8151529db83f5e5075c56430d13cbb3dc1431e0302d69e4fd','{"key": "tried~v2", "kept": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'loop','verify','bae0c52e8bf1689055ce5379f59581d154ba4daa5ac93eb09eff2c633299bf81','{"claim_of": "6hhh4syg0dmad", "attempt": 1}',1800003600000000);
INSERT INTO "request" VALUES(1,'session','propose','8fa78a87dd05806d7343fea9c74df984da18d453b3a33d277760a62d0a63b010','{"items": [{"key": "idea", "result": "added", "state": "proposed"}], "added": 1, "unchanged": 0}',1800003600000000);
CREATE TABLE slot (
    campaign_id INTEGER NOT NULL REFERENCES campaign (id),
    number INTEGER NOT NULL CHECK (number >= 1),
    item_id INTEGER REFERENCES item (id),
    executor TEXT,
    PRIMARY KEY (campaign_id, number),
    CHECK ((item_id IS NULL) = (executor IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO "slot" VALUES(1,1,7549762299494846797,'loop/last');
INSERT INTO "slot" VALUES(1,2,7549762333051759508,'ann/three');
INSERT INTO "slot" VALUES(1,3,NULL,NULL);
INSERT INTO "slot" VALUES(1,4,NULL,NULL);
INSERT INTO "slot" VALUES(1,5,NULL,NULL);
INSERT INTO "slot" VALUES(1,6,NULL,NULL);
INSERT INTO "slot" VALUES(1,7,NULL,NULL);
INSERT INTO "slot" VALUES(1,8,NULL,NULL);
INSERT INTO "slot" VALUES(1,9,NULL,NULL);
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
INSERT INTO "verdict" VALUES(7549747200003766950,1,7549747200003980451,'loop/checker','ann','rejected','0000000000000000000000000000000000000001','["objective"]','look',1800000000000000);
INSERT INTO "verdict" VALUES(7549747200003766950,2,7549747200001076426,'loop/checker','ann','passed','0000000000000000000000000000000000000002','[]','',1800000000000000);
INSERT INTO "verdict" VALUES(7549747200003766952,1,7549762299496759251,'loop/checker','ann','passed','0000000000000000000000000000000000000003','[]','',1800003600000000);
INSERT INTO "verdict" VALUES(7549762307884456047,1,7549762316273033464,'ann/two','ann','passed','000000000000000000000000000000000000000c','[]','',1800003606000000);
INSERT INTO "verdict" VALUES(7549762324661263087,1,7549762324662847039,'ann/two','ann','passed','000000000000000000000000000000000000000d','[]','',1800003608000000);
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
CREATE UNIQUE INDEX slot_item ON slot (item_id) WHERE item_id IS NOT NULL;
CREATE UNIQUE INDEX slot_executor ON slot (campaign_id, executor) WHERE executor IS NOT NULL;
CREATE INDEX edge_needing ON edge (needs_id) WHERE met = 0;
CREATE UNIQUE INDEX question_open ON question (item_id) WHERE answered_at IS NULL;
CREATE INDEX question_waiting ON question (campaign_id, raised_at) WHERE answered_at IS NULL;
CREATE INDEX lane_held ON lane (item_id) WHERE item_id IS NOT NULL;
CREATE TRIGGER lane_grant_never_falls BEFORE UPDATE ON lane WHEN new."grant" < old."grant"
BEGIN
    SELECT raise(ABORT, 'the grant of a lane never falls');
END;
CREATE UNIQUE INDEX event_of_item ON event (item_id, n);
CREATE TRIGGER event_stays BEFORE UPDATE ON event
BEGIN
    SELECT raise(ABORT, 'events are append-only');
END;
CREATE TRIGGER event_is_kept BEFORE DELETE ON event
BEGIN
    SELECT raise(ABORT, 'events are append-only');
END;
CREATE INDEX request_age ON request (at);
COMMIT;
