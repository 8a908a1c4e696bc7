#!/usr/bin/python3
"""Measures the preset 'activity' second by second: activity-bars.py TRACE...

What a recording shows is what its name says (walk, run or jogging, stationary, driving, biking). A second counts as right when that
is what is told in its middle. It is said twice: of all seconds, and of those in which the recording itself shows motion, as the
length of its samples varies by more than 0.1 g in the second (a walk: 0.04 g): a recording of a run has pauses. The first 3 s are
left out of the second figure, too: nothing is known yet. Recordings are split into two halves by the number of their session, as
the names of the persons are not kept; figures of one half that are far from the other's say that numbers were fitted. It exits 1
when a bar does not hold.
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
MOVES = {"walking": 0.04, "running": 0.1}


def label(path):
    if path.name.startswith("st-") and not path.name.startswith("st-pocket-"):
        return None
    return next((word for part, word in LABELS if part in path.name), None)


def half(path):
    """Sessions whose number is even, and the others; what has none is of the first."""
    found = re.search(r"(?:pbl|temp)-(\d+)", path.name)
    return int(found[1]) % 2 if found else 0


def seconds(path):
    """How much the length of the samples varies in each second."""
    spans = collections.defaultdict(list)
    for line in path.read_text().splitlines():
        if line and line[0] in "-0123456789":
            t, x, y, z = map(float, line.split(",")[:4])
            spans[int(t // 1e6)].append((x * x + y * y + z * z) ** 0.5)
    result = {}
    for second, lengths in spans.items():
        mean = sum(lengths) / len(lengths)
        result[second] = (sum((one - mean) ** 2 for one in lengths) / len(lengths)) ** 0.5
    return result


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
    for path in given.traces:
        truth = label(path)
        if truth is None:
            continue
        changes, told_now = told(given.program, path), "unknown"
        spans = seconds(path)
        own = collections.Counter()
        line = ""
        for second in sorted(spans):
            while changes and changes[0][0] <= second * 1e6 + 5e5:
                told_now = changes.pop(0)[1]
            own[told_now] += 1
            moves = spans[second] > MOVES.get(truth, -1)
            line += told_now[0].upper() if moves else told_now[0]
            for key in ((truth, half(path)), (truth, "all")):
                count = counts[key]
                count[0] += 1
                count[1] += told_now == truth
                if moves and second >= 3:
                    count[2] += 1
                    count[3] += told_now == truth
        table[truth].update(own)
        if given.each:
            right = own[truth] / max(1, sum(own.values()))
            print(f"{path.name} (half {half(path)}): {right:.3f} of {sum(own.values())} s")
            if truth == "running":
                print("  " + line + "  (small: the recording itself shows no motion)")
    print("label     " + " ".join(f"{word:>8}" for word in WORDS))
    for truth, own in table.items():
        print(f"{truth:10}" + " ".join(f"{100 * own[word] / sum(own.values()):7.1f}%" for word in WORDS))
    failed = []
    for truth in ("walking", "running", "still", "riding"):
        for part in (0, 1, "all"):
            n, right, moving, well = counts[(truth, part)]
            if n:
                print(f"{truth}, {'all' if part == 'all' else f'half {part}'}: {right / n:.3f} of {n} s as labelled"
                      + (f", {well / moving:.3f} of {moving} s in which it moves" if moving else ""))
        n, right, moving, well = counts[(truth, "all")]
        if truth != "riding" and n and well < 0.9 * moving:
            failed.append(f"{truth} where it moves")
        if truth != "riding" and n and right < 0.9 * n:
            failed.append(f"{truth} as labelled")
    if failed:
        sys.exit("short of 90 %: " + "; ".join(failed))


main()
