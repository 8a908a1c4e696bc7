#!/usr/bin/python3
"""Counts what the presets do on recordings, as the table of docs/detectors.md has it: preset-table.py TRACE...

What a recording is stands in its name. Of a phone in a pocket and of single gestures it counts hits in all, of a wrist hits an hour.
Presets of other sensors are left out.
"""

import argparse
import collections
import json
import pathlib
import subprocess

POCKET = ["walking", "jogging", "biking", "driving", "stationary"]
WRIST = ["pebble-walk-", "pebble-run", "pebble-non-walk-", "pebble-driving-"]
PRESETS = [
    "shake", "shake,sensitivity=pocket", "shake,sensitivity=sensitive", "shake.gentle", "shake.planar", "shake.axis", "shake.lowpass",
    "shake.user", "shake.magnitude", "shake.tilted", "tap", "double-tap", "flip.face-down", "pick-up", "free-fall", "tilt", "still", "moving",
    "step", "activity", "orientation", "orientation.screen",
]


def column(path):
    """The column that a recording counts in; none for those that the text below the table tells of."""
    name = path.stem
    if name.startswith("st-pocket-"):
        return name.removeprefix("st-pocket-")
    for start in WRIST:
        if name.startswith(start):
            return start
    if name == "st-asset-shake":
        return "shaking"
    if name.startswith("st-jiggle"):
        return "jiggle"
    return None if name.startswith("st-shake-detection") else "gestures"


def rate(hits, hours):
    value = hits / hours
    return "0" if hits == 0 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=pathlib.Path, nargs="+")
    parser.add_argument("--program", default=".build/release/jostle")
    given = parser.parse_args()
    print("| preset | pocket: walking, jogging, biking, driving, at rest | wrist: walking | wrist: running | wrist: other | wrist: driving "
          "| continuous shaking | jiggle | other gestures |")
    print("|---" * 9 + "|")
    for preset in PRESETS:
        hits, hours = collections.Counter(), collections.Counter()
        words = [given.program, "replay", *map(str, given.traces), "--json", "--detector", preset]
        out = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        for line in map(json.loads, out.splitlines()):
            place = column(pathlib.Path(line["file"])) if "hits" in line else None
            if place is not None:
                hits[place] += line["hits"]
                hours[place] += line["hours"]
        name = preset.replace(",sensitivity=", ".")
        cells = [", ".join(str(hits[place]) for place in POCKET)]
        cells += [rate(hits[place], hours[place]) for place in WRIST if hours[place]]
        cells += [str(hits[place]) for place in ("shaking", "jiggle", "gestures")]
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)


main()
