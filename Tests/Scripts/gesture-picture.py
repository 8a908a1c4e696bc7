#!/usr/bin/python3
"""Draws docs/gestures.svg: gesture-picture.py [--program JOSTLE] [--check]

It does what the page says with made motion, and draws the examples as the file of the gesture has them, and the day with what was
found in it. The same program draws the same picture; with --check it says whether the one that is there is another.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STYLE = """    svg { --ink: #1b1f24; --faint: #59636e; --x: #b3261e; --y: #1a7f37; --z: #0550ae; }
    @media (prefers-color-scheme: dark) {
      svg { --ink: #e6edf3; --faint: #9198a1; --x: #ff8a80; --y: #56d364; --z: #79c0ff; }
    }
    text { fill: var(--ink); } .faint { fill: var(--faint); font-size: 13px; }
    polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
    .x { stroke: var(--x); } .y { stroke: var(--y); } .z { stroke: var(--z); } .day { stroke: var(--faint); stroke-width: 1.2; }
    .name { font-weight: bold; } .name.x { fill: var(--x); stroke: none; } .name.y { fill: var(--y); stroke: none; }
    .name.z { fill: var(--z); stroke: none; } .rule { stroke: var(--faint); stroke-width: 1; opacity: 0.5; }
    .hit { fill: var(--y); opacity: 0.25; }"""


def line(points, name):
    return f'  <polyline class="{name}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def examples(text):
    """Of each example its length and the three axes."""
    found = []
    for part in text.split("example ")[1:]:
        seconds, *values = part.split()
        found.append((float(seconds), [[int(v) / 100 for v in values[axis::3]] for axis in range(3)]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / ".build/release/jostle"))
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    given.program = str(pathlib.Path(given.program).resolve())
    target = ROOT / "docs/gestures.svg"
    block = re.search(r"```sh\n(.*?)```", (ROOT / "docs/gestures.md").read_text(), re.S)[1]
    with tempfile.TemporaryDirectory() as scratch:
        script = block.replace("jostle ", f"'{pathlib.Path(given.program).resolve()}' ")
        subprocess.run(["sh", "-ec", script], cwd=scratch, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        where = pathlib.Path(scratch)
        taught = examples((where / "circle.gesture").read_text())
        day = [list(map(float, row.split(","))) for row in (where / "day.csv").read_text().splitlines() if row[:1].isdigit()]
        out = subprocess.run([given.program, "replay", "day.csv", "--json", "--gesture", "circle.gesture"], cwd=scratch,
                             check=True, capture_output=True, text=True).stdout
        hits = [hit for hit in map(json.loads, out.splitlines()) if "score" in hit]
    lines = []
    for index, (seconds, axes) in enumerate(taught):
        left, width, top, height = 20 + 220 * index, 190, 40, 130
        lines.append(f'  <text x="{left}" y="{top - 12}" class="faint">example {index + 1}: {seconds:.2f} s</text>')
        for level in (1, 0):
            y = top + height * (1.9 - level) / 3.2
            lines.append(f'  <line class="rule" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
            if index == 0:
                lines.append(f'  <text x="{left - 2}" y="{y - 3:.1f}" class="faint">{level} g</text>')
        for name, values in zip("xyz", axes):
            points = [(left + width * k / 47, top + height * (1.9 - value) / 3.2) for k, value in enumerate(values)]
            lines.append(line(points, name))
            if index == len(taught) - 1:
                lines.append(f'  <text x="{left + width + 6}" y="{points[-1][1] + 5 + (0 if name != "y" else 14):.1f}" class="name {name}">{name}</text>')
    left, width, top, height = 20, 630, 215, 110
    end = day[-1][0]
    lengths = [(t, (x * x + y * y + z * z) ** 0.5) for t, x, y, z in day]
    high = max(value for _, value in lengths)
    place = lambda t, value: (left + width * t / end, top + height * (1 - value / high))
    lines.append(f'  <text x="{left}" y="{top - 12}" class="faint">a day of {end / 1e6:.0f} s: the length of what is felt, up to {high:.1f} g</text>')
    longest = max(seconds for seconds, _ in taught)
    for hit in hits:
        # It is told 0.3 s after the motion.
        x1, x2 = (left + width * (hit["t_us"] - back) / end for back in (300_000 + 1e6 * longest, 300_000))
        lines.append(f'  <rect class="hit" x="{x1:.1f}" y="{top}" width="{x2 - x1:.1f}" height="{height}"/>')
        lines.append(f'  <text x="{(x1 + x2) / 2:.1f}" y="{top + height + 18}" text-anchor="middle">circle, score {hit["score"]:.2f}</text>')
    lines.append(line([place(t, value) for t, value in lengths[::2]], "day"))
    for text, at in (("a walk", 8e6), ("a shake", 20.5e6)):
        lines.append(f'  <text x="{left + width * at / end:.1f}" y="{top + height + 18}" text-anchor="middle" class="faint">{text}</text>')
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 690 350" role="img" aria-labelledby="title text" font-family="sans-serif" font-size="15">
  <title id="title">A circle that was taught, and a day in which it was found</title>
  <desc id="text">Above: the {len(taught)} examples as the file of the gesture has them, each with the acceleration along x, y and z: x and y swing once each, a quarter
    apart, and z stays at 1 g. Below: the day, with a walk, a circle and a shake in it. Found {len(hits)} time{"s" if len(hits) != 1 else ""}: {", ".join(f"at {hit['t_us'] / 1e6:.1f} s with a score of {hit['score']:.2f}" for hit in hits)}.</desc>
  <style>
{STYLE}
  </style>
""" + "\n".join(lines) + "\n</svg>\n"
    if given.check:
        if not target.exists() or target.read_text() != svg:
            sys.exit("docs/gestures.svg is another picture: Tests/Scripts/gesture-picture.py draws it anew")
        return
    target.write_text(svg)


main()
