PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA application_id = 1249080321;
PRAGMA user_version = 7;
BEGIN TRANSACTION;
CREATE TABLE app (
    app TEXT PRIMARY KEY, user INTEGER NOT NULL, proof TEXT NOT NULL, usage TEXT NOT NULL,
    modes TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "app" VALUES('org.example.A',1000,'flatpak','Skips, with ''quotes'' and ünïcode','audio push');
INSERT INTO "app" VALUES('org.example.B',4294967295,'name','Waits','');
CREATE TABLE detector_option (
    app TEXT NOT NULL, detector TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, value ANY NOT NULL,
    PRIMARY KEY (app, detector, key)) STRICT, WITHOUT ROWID;
INSERT INTO "detector_option" VALUES('org.example.A','a b','every','count',100000);
INSERT INTO "detector_option" VALUES('org.example.A','a b','preset','text','shake.planar');
INSERT INTO "detector_option" VALUES('org.example.A','a b','threshold','number',2.25);
INSERT INTO "detector_option" VALUES('org.example.A','skip','loud','flag',1);
INSERT INTO "detector_option" VALUES('org.example.A','skip','quiet','flag',0);
INSERT INTO "detector_option" VALUES('org.example.A','skip','when','text','x > 1g
');
CREATE TABLE due (
    user INTEGER NOT NULL, app TEXT NOT NULL, epoch INTEGER NOT NULL, time INTEGER NOT NULL,
    detector TEXT NOT NULL, sequence INTEGER NOT NULL, generation INTEGER NOT NULL, peak REAL NOT NULL,
    simulated INTEGER NOT NULL, clipped INTEGER NOT NULL, kind TEXT NOT NULL, reliability TEXT NOT NULL,
    lifespan INTEGER NOT NULL, ends INTEGER NOT NULL, strength INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (user, app, epoch, time, detector)) STRICT, WITHOUT ROWID;
INSERT INTO "due" VALUES(1000,'org.example.Hard',70001,1234567,'skip',1,3,2.5,1,65736,'wake','ack',3600000000,1700000000000000,9);
INSERT INTO "due" VALUES(1000,'org.example.Hard',70002,1234567,'skip',2,3,2.5,0,3,'store','best-effort',3600000000,1700000000000000,9);
CREATE TABLE epochs (
    id INTEGER PRIMARY KEY CHECK (id = 0), reserved INTEGER NOT NULL, inverse INTEGER NOT NULL) STRICT;
INSERT INTO "epochs" VALUES(0,77065536,-77065537);
CREATE TABLE mark (whole INTEGER NOT NULL) STRICT;
INSERT INTO "mark" VALUES(1);
CREATE TABLE task (
    user INTEGER NOT NULL, app TEXT NOT NULL, identifier TEXT NOT NULL, kind TEXT NOT NULL,
    earliest INTEGER NOT NULL, latest INTEGER, needs TEXT NOT NULL, discretionary INTEGER NOT NULL,
    attempt INTEGER NOT NULL, since INTEGER, delay INTEGER, time INTEGER, PRIMARY KEY (user, app, identifier)) STRICT, WITHOUT ROWID;
INSERT INTO "task" VALUES(1000,'org.example.Mail','news','refresh',1700000000000000,NULL,'',0,2,NULL,NULL,NULL);
INSERT INTO "task" VALUES(1000,'org.example.Mail','sync','processing',1700000000000001,1800000000000000,'idle power',1,0,NULL,NULL,NULL);
CREATE TABLE terminated (
    user INTEGER NOT NULL, app TEXT NOT NULL, PRIMARY KEY (user, app)) STRICT, WITHOUT ROWID;
INSERT INTO "terminated" VALUES(1000,'org.example.Mail');
COMMIT;
PRAGMA journal_mode = WAL;
