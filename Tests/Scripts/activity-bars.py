#!/usr/bin/python3
"""Measures the preset 'activity' second by second: activity-bars.py TRACE...

What a recording shows is what its name says (walk, run or jogging, stationary, driving, biking). A second counts as right when that
is what is told in its middle. It is said twice: of all seconds, and of those in which the recording itself shows what it is called.
Of a run these are the seconds from its first step to its last: each pushes the length of a sample over 1.6 g, and where the name of
a recording says how many steps it has, as run-150 does, so many are found. What lies before and behind is somebody who stands. Of a
walk they are those in which the length varies by more than 0.04 g, without the first 3 s, when nothing is known yet; of the others
all but these 3 s. Recordings are split into two halves by the number of their session, as the names of the persons are not kept;
figures of one half that are far from the other's say that numbers were fitted. It exits 1 when a bar does not hold: for running the
second figure, for walking and still both.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

WORDS = ["unknown", "still", "handled", "walking", "running", "riding"]
LABELS = [("stationary", "still"), ("non-walk", None), ("walk", "walking"), ("run", "running"), ("jogging", "running"),
          ("driving", "riding"), ("biking", "riding")]
LETTERS = {"unknown": "u", "still": "s", "handled": "h", "walking": "w", "running": "R", "riding": "d"}
# How much the length of the samples varies in a second of a walk, in g.
WALKS = 0.04
# What a runner's step pushes the length over, in g, and how far two steps are from each other at least, in s.
STEP, APART = 1.6, 0.25


def label(path):
    if path.name.startswith("st-") and not path.name.startswith("st-pocket-"):
        return None
    return next((word for part, word in LABELS if part in path.name), None)


def half(path):
    """Sessions whose number is even, and the others; what has none is of the first."""
    found = re.search(r"(?:pbl|temp)-(\d+)", path.name)
    return int(found[1]) % 2 if found else 0


def lengths(path):
    """The times in s, and the lengths of the samples in g."""
    rows = [line.split(",")[:4] for line in path.read_text().splitlines() if line and line[0] in "-0123456789"]
    return [(int(t) / 1e6, sum(float(one) ** 2 for one in row) ** 0.5) for t, *row in rows]


def seconds(samples):
    """How much the length of the samples varies in each second."""
    spans = collections.defaultdict(list)
    for t, length in samples:
        spans[int(t)].append(length)
    result = {}
    for second, own in spans.items():
        mean = sum(own) / len(own)
        result[second] = (sum((one - mean) ** 2 for one in own) / len(own)) ** 0.5
    return result


def steps(samples):
    """When a runner steps: each highest sample for a quarter of a second either way."""
    found = []
    for before, here, after in zip(samples, samples[1:], samples[2:]):
        if here[1] > STEP and before[1] <= here[1] > after[1]:
            if not found or here[0] - found[-1][0] >= APART:
                found.append(here)
            elif here[1] > found[-1][1]:
                found[-1] = here
    return [t for t, _ in found]


def told(program, path):
    """The moments at which another activity begins."""
    out = subprocess.run([program, "replay", path, "--json", "--detector", "activity"], capture_output=True, text=True, check=True)
    hits = [json.loads(line) for line in out.stdout.splitlines()]
    return [(hit["t_us"], WORDS[round(hit["peak"])]) for hit in hits if "peak" in hit]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=pathlib.Path, nargs="+")
    parser.add_argument("--program", default=".build/release/jostle")
    parser.add_argument("--each", action="store_true", help="a line for each recording, too")
    given = parser.parse_args()
    table = collections.defaultdict(collections.Counter)
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    standing = collections.Counter()
    for path in given.traces:
        truth = label(path)
        if truth is None:
            continue
        changes, told_now = told(given.program, path), "unknown"
        samples = lengths(path)
        spans = seconds(samples)
        run = steps(samples) if truth == "running" else []
        own = collections.Counter()
        line = ""
        for second in sorted(spans):
            while changes and changes[0][0] <= second * 1e6 + 5e5:
                told_now = changes.pop(0)[1]
            own[told_now] += 1
            if truth == "running":
                moves = bool(run) and run[0] <= second + 0.5 <= run[-1]
            else:
                moves = second >= 3 and (truth != "walking" or spans[second] > WALKS)
            line += LETTERS[told_now]
            if truth == "running" and not moves:
                standing[told_now] += 1
            for key in ((truth, half(path)), (truth, "all")):
                count = counts[key]
                count[0] += 1
                count[1] += told_now == truth
                if moves:
                    count[2] += 1
                    count[3] += told_now == truth
        table[truth].update(own)
        if given.each:
            right = own[truth] / max(1, sum(own.values()))
            print(f"{path.name} (half {half(path)}): {right:.3f} of {sum(own.values())} s")
            if truth == "running":
                print(f"  {line}\n  {len(run)} steps from {run[0]:.1f} to {run[-1]:.1f} s")
    print("label     " + " ".join(f"{word:>8}" for word in WORDS))
    for truth, own in table.items():
        print(f"{truth:10}" + " ".join(f"{100 * own[word] / sum(own.values()):7.1f}%" for word in WORDS))
    print("before and behind a run: " + ", ".join(f"{word} {n} s" for word, n in standing.most_common()))
    failed = []
    for truth in ("walking", "running", "still", "riding"):
        for part in (0, 1, "all"):
            n, right, moving, well = counts[(truth, part)]
            if n:
                print(f"{truth}, {'all' if part == 'all' else f'half {part}'}: {right / n:.3f} of {n} s as labelled"
                      + (f", {well / moving:.3f} of {moving} s in which it is shown" if moving else ""))
        n, right, moving, well = counts[(truth, "all")]
        if truth != "riding" and n and well < 0.9 * moving:
            failed.append(f"{truth} where it is shown")
        if truth in ("walking", "still") and n and right < 0.9 * n:
            failed.append(f"{truth} as labelled")
    if failed:
        sys.exit("short of 90 %: " + "; ".join(failed))


main()
