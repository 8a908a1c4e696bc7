#!/usr/bin/env python3
"""Makes a journal as a busy broker leaves it: make-journal.py SCHEMA.sql DIRECTORY VERDICTS NOW_US DAYS [SEED [NEAR]]

Its tables, and the details of verdicts, are those of a stored file. Apps come and go, the screen is locked at night, a sensor runs
while somebody asks for it, and some names mean harm. NEAR: so many times something nearly was a hit, and the motion of that is kept.
"""
import os
import random
import sqlite3
import struct
import sys

source, directory, count, now, days = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
dice = random.Random(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
near = int(sys.argv[7]) if len(sys.argv) > 7 else 0
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


def moments(count):
    """When something happens: more by day, in order."""
    found = []
    while len(found) < count:
        wall = start + int(dice.random() * (now - start))
        if dice.random() < busy(wall):
            found.append(wall)
    return sorted(found)


walls = moments(count)
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

def number(value):
    """A whole number as `ByteWriter` has it: seven bits a byte, the sign in the lowest."""
    rest, coded = value << 1 if value >= 0 else (-value << 1) - 1, bytearray()
    while rest >= 0x80:
        coded.append(rest & 0x7F | 0x80)
        rest >>= 7
    coded.append(rest)
    return bytes(coded)


def swing(peak):
    """The columns of a clip as `ClipCoding` has them: 150 samples of three channels that lie still, but for a swing along x."""
    coded = bytearray()
    for channel in [lambda row: peak * (1 - abs(row - 104) / 8) if 100 < row < 108 else dice.uniform(-0.02, 0.02),
                    lambda row: dice.uniform(-0.02, 0.02), lambda row: 1 + dice.uniform(-0.02, 0.02)]:
        values = [channel(row) for row in range(150)]
        most, last = max(map(abs, values)), 0
        coded += struct.pack("<d", most)
        for value in values:
            step = round(value / most * 32_767)
            coded += number(step - last)
            last = step
    return bytes(coded)


if near:
    database.executescript("""
        CREATE TABLE clip (
            id INTEGER PRIMARY KEY, run INTEGER NOT NULL, wall INTEGER NOT NULL, app TEXT NOT NULL,
            user INTEGER NOT NULL, sensor TEXT NOT NULL, channels TEXT NOT NULL, motion BLOB NOT NULL) STRICT;
        CREATE TABLE moment (
            id INTEGER PRIMARY KEY, clip INTEGER NOT NULL, wall INTEGER NOT NULL, time INTEGER NOT NULL,
            app TEXT NOT NULL, user INTEGER NOT NULL, detector TEXT NOT NULL, preset TEXT NOT NULL,
            options TEXT NOT NULL, peak REAL NOT NULL, threshold REAL, near INTEGER NOT NULL) STRICT;
        """)
    DETECTORS = [("skip", "shake.planar", 2.3, 6), ("undo", "shake.planar", 1.9, 3), ("shake", "shake", 2.0, 1)]
    shapes = {row[0]: [swing(row[2] * dice.uniform(0.82, 0.99)) for _ in range(32)] for row in DETECTORS}
    for index, wall in enumerate(moments(near)):
        app, user, _, _ = dice.choices(APPS, [a[2] for a in APPS])[0]
        detector, preset, threshold, _ = chosen(DETECTORS)
        began = 1_000_000_000 + index * 4_000_000
        # At one pace: only the first sample and the first step are not what they were to be.
        times = number(began) + number(20_000 - began) + bytes(148)
        motion = bytes([1, 3]) + number(75) + times + dice.choice(shapes[detector])
        run = 1 if wall < runs[1][1] else 2
        database.execute("INSERT INTO clip VALUES (?, ?, ?, ?, ?, 'accelerometer', 'x y z', ?)", (index + 1, run, wall, app, user, motion))
        options = "\x1e".join([f"preset={preset}", f"threshold={threshold}", "every=20000us"])
        database.execute("INSERT INTO moment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                         (index + 1, index + 1, wall, began + 2_040_000, app, user, detector, preset, options, threshold * 0.81, threshold))
database.commit()
database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
database.close()
