#!/usr/bin/env python3
"""Makes a journal as a busy broker leaves it: make-journal.py SCHEMA.sql DIRECTORY VERDICTS NOW_US DAYS [SEED]

Its tables, and the details of verdicts, are those of a stored file. Apps come and go, the screen is locked at night, a sensor runs
while somebody asks for it, and some names mean harm.
"""
import os
import random
import sqlite3
import sys

source, directory, count, now, days = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
dice = random.Random(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
os.makedirs(directory, mode=0o700, exist_ok=True)
path = os.path.join(directory, "journal.db")
database = sqlite3.connect(path)
database.executescript(open(source).read())
details = [row[0] for row in database.execute("SELECT detail FROM verdict")]
hasChanges = database.execute("PRAGMA user_version").fetchone()[0] >= 6
for table in ["verdict", "event", "run", "policy"] + ["change"] * hasChanges:
    database.execute(f"DELETE FROM {table}")

SECOND, HOUR = 1_000_000, 3_600_000_000
start = now - int(days * 24 * HOUR)
APPS = [
    ("org.example.Music", 1000, 30, 0.8), ("org.example.Pedometer", 1000, 25, 0.6), ("org.example.Notes", 1000, 15, 0.1),
    ("org.example.Camera", 1000, 10, 0.4), ("org.example.Sync", 1001, 10, 0.2), ("</script><img src=x onerror=alert(1)>", 1001, 3, 0),
    ("org.example.\u202eevil\"'&", 1000, 2, 0.5), (":1.4711", 1000, 5, 0.3),
]
REFUSALS = [
    ("S2.denied", "quiet", "/etc/jostle/policy.d/20-night.conf:7", 40), ("S4.outranked", "any", "/etc/jostle/policy.d/10-a.conf:5", 30),
    ("S3.quota", "any", "/etc/jostle/policy.d/10-a.conf:5", 12), ("S2.no-rule", None, None, 10),
    ("S1.suspended", "music", "/etc/jostle/policy.d/30-music.conf:12", 8), ("S3.app-cooldown", "any", "/etc/jostle/policy.d/10-a.conf:5", 6),
    ("S5.expired", "late", "/etc/jostle/policy.d/30-music.conf:19", 2), ("S5.queue-full", "late", "/etc/jostle/policy.d/30-music.conf:19", 1),
    ("S4.late", "any", "/etc/jostle/policy.d/10-a.conf:5", 3), ("S4.silenced", "loud", "/etc/jostle/policy.d/40-loud.conf:2", 2),
    ("S0.mismatch", None, None, 1),
]
EVENTS = [("S5.sent", 6), ("S5.acknowledged", 4)]


def hour(wall):
    return (wall / HOUR) % 24


def busy(wall):
    """How much happens at a time of the day: little at night."""
    h = hour(wall)
    return 0.03 if h < 6.5 or h > 23.2 else 0.5 + 0.5 * (7 < h < 9.5 or 12 < h < 13.5 or 17 < h < 19)


def chosen(rows):
    return dice.choices(rows, [row[-1] for row in rows])[0]


# When something happens: more by day, in order.
walls = []
while len(walls) < count:
    wall = start + int(dice.random() * (now - start))
    if dice.random() < busy(wall):
        walls.append(wall)
walls.sort()
runs = [(1, start - HOUR), (2, start + (now - start) // 3)]
for number, began in runs:
    database.execute("INSERT INTO run VALUES (?, ?, 'boot', 'made')", (number, began))
    database.execute("INSERT INTO policy VALUES (?, 1, ?, '/etc/jostle/policy.d/10-a.conf')", (number, began))
verdicts, events = [], []
for index, wall in enumerate(walls):
    app, user, _, share = dice.choices(APPS, [a[2] for a in APPS])[0]
    night = busy(wall) < 0.1
    got = dice.random() < (share * 0.3 if night else share)
    if got:
        (reason, _), rule, place = chosen(EVENTS), "any", "/etc/jostle/policy.d/10-a.conf:5"
    else:
        reason, rule, place, _ = REFUSALS[0] if night and dice.random() < 0.8 else chosen(REFUSALS)
    epoch = 1_700_000_000_000_000 + index
    run = 1 if wall < runs[1][1] else 2
    verdicts.append((run, epoch, app, user, 5, "shake", "shake.planar", index, wall, 2 + dice.random(), reason, int(got), 1, rule, place,
                     dice.choice(details)))
    if got or reason in ("S5.expired", "S5.queue-full"):
        events.append((run, epoch, app, index, "shake", index, wall, 2.5, 1, 0, int(got)))
database.executemany(
    "INSERT INTO verdict (run, epoch, app, user, registration, detector, preset, time, wall, intensity, reason, delivered, generation, rule,"
    " place, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", verdicts)
database.executemany(
    "INSERT INTO event (run, epoch, app, sequence, detector, time, wall, peak, generation, simulated, sent)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", events)

if hasChanges:
    changes = []

    def note(wall, kind, app="", user=1000, value="", rate=None, amount=None):
        changes.append((1 if wall < runs[1][1] else 2, wall, kind, app, user, value, rate, amount))

    for number, began in runs:
        for kind, value in [("lock", "unlocked"), ("foreground", ""), ("sleep", "awake"), ("motion", "on"), ("power", "ac")]:
            note(began, kind, value=value)
        for app, user, weight, _ in APPS[:6]:
            note(began + SECOND, "state", app, user, "background")
            note(began + 2 * SECOND, "asks", app, user, "accelerometer", 50.0 if weight > 20 else 25.0, 10.0 * weight)
    note(runs[1][1] - SECOND, "end")
    wall, locked = start, False
    while wall < now:
        wall += int(dice.uniform(0.1, 1.2) * HOUR / (1 if busy(wall) > 0.1 else 0.5))
        if wall >= now or abs(wall - runs[1][1]) < 10 * SECOND:
            continue
        locked = not locked or busy(wall) < 0.1
        note(wall, "lock", value="locked" if locked else "unlocked")
        note(wall + 10, "foreground", value="" if locked else dice.choice(APPS[:4])[0])
        app, user, _, _ = dice.choice(APPS[:6])
        note(wall + 20, "state", app, user, dice.choice(["foreground", "inactive", "background", "suspended", "dead"]))
        note(wall + 30, "sensor", value="accelerometer", rate=0.0 if locked else dice.choice([25.0, 50.0, 100.0]))
        if dice.random() < 0.2:
            note(wall + 40, "power", value=dice.choice(["battery", "ac"]))
        if dice.random() < 0.15:
            note(wall + 50, "gaps", value="accelerometer", amount=1.0)
            note(wall + 51, "lost", value="accelerometer", amount=float(dice.randint(1, 40)))
        if dice.random() < 0.3:
            note(wall + 60, "launch", APPS[2][0], APPS[2][1], dice.choice(["done", "done", "not-started"]))
        if busy(wall) < 0.1 and dice.random() < 0.3:
            note(wall + 70, "sleep", value="asleep")
            note(min(now - SECOND, wall + HOUR // 4), "sleep", value="awake")
    changes.sort(key=lambda row: row[1])
    database.executemany("INSERT INTO change (run, wall, kind, app, user, value, rate, count) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", changes)
database.commit()
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
database.close()
