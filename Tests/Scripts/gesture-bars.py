#!/usr/bin/python3
"""Measures taught gestures on a folder of recordings: gesture-bars.py GESTURES [EVERYDAY...]

GESTURES has files gesture-CLASS-NUMBER.csv, each one gesture with a little rest around it; EVERYDAY are traces without any.
For each seed some files of each class are examples, all others the test. It prints how many of the others get the right
answer with all gestures taught at once (none is wrong, too), what each gesture alone finds of its class and takes of the
others, its false hits an hour, and the same when the gestures are spliced into everyday motion. It exits 1 if a bar does
not hold.
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time


def read(path):
    """The header lines of a trace, and its rows as numbers."""
    head, rows = [], []
    for line in path.read_text().splitlines():
        if line.startswith("#") or line.startswith("t,"):
            head.append(line)
        elif line:
            rows.append([float(cell) for cell in line.split(",")])
    return head, rows


def spliced(gestures, everyday, to, choice):
    """Writes gestures, 4 s to 6 s of everyday motion between them; returns the time in us at which each begins and ends."""
    rows, spans, time = [], [], 0.0
    pieces = [read(path)[1] for path in everyday]
    for path in gestures:
        piece = choice.choice(pieces)
        length = choice.uniform(4e6, 6e6)
        start = choice.uniform(0, max(0.0, piece[-1][0] - length))
        last = None
        for row in piece:
            if start <= row[0] < start + length:
                last = time + row[0] - start
                rows.append([last, *row[1:4]])
        time = (last if last is not None else time) + 20_000
        begin = time
        for row in read(path)[1]:
            rows.append([begin + row[0], *row[1:4]])
        time = rows[-1][0] + 20_000
        spans.append((begin, time))
    lines = ["# jostle trace 1", "# sensor: accelerometer", "# unit: g", "# label: spliced", "t,x,y,z"]
    lines += [f"{int(t)},{x:.4f},{y:.4f},{z:.4f}" for t, x, y, z in rows]
    to.write_text("\n".join(lines) + "\n")
    return spans


class Bench:
    def __init__(self, program, folder, everyday, scratch, half):
        self.program = program
        self.everyday = everyday
        self.scratch = scratch
        self.classes = collections.defaultdict(list)
        for path in sorted(folder.glob("gesture-*.csv")):
            self.classes[path.name.split("-")[1]].append(path)
        if half is not None:
            for name, paths in self.classes.items():
                self.classes[name] = sorted(paths, key=lambda path: int(path.stem.split("-")[2]))[half::2]
        self.class_of = {str(path): name for name, paths in self.classes.items() for path in paths}

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=True).stdout

    def hits(self, files, gestures):
        lines = []
        # Nobody's command line is endless.
        for first in range(0, len(files), 400):
            words = ["replay", *files[first:first + 400], "--json"]
            for gesture in gestures:
                words += ["--gesture", gesture]
            lines += [json.loads(line) for line in self.run(*words).splitlines()]
        return [line for line in lines if "score" in line]

    def teach(self, name, to, paths, *options):
        words = ["teach", f"class-{name}", "--json", "--save", to, *options]
        for path in paths:
            words += ["--example", path]
        self.run(*words)

    def complaint(self, name, to, paths):
        """What teach says against examples; nothing, if it takes them."""
        try:
            self.teach(name, to, paths, "--anyway")
            return ""
        except subprocess.CalledProcessError as error:
            return error.stderr

    def draw(self, seed, count):
        choice = random.Random(seed)
        examples = {name: choice.sample(paths, count) for name, paths in self.classes.items()}
        gestures, slowest, refused = {}, 0.0, []
        for name, paths in examples.items():
            to = self.scratch / f"{name}.gesture"
            began = time.monotonic()
            try:
                self.teach(name, to, paths)
            except subprocess.CalledProcessError as error:
                refused.append(f"{name}: {error.stderr.strip()}")
                # Where there is no motion at all, nobody could go on: another is made.
                for index, path in enumerate(paths):
                    while "there is no motion" in self.complaint(name, to, [paths[index]] * 2):
                        paths[index] = choice.choice([one for one in self.classes[name] if one not in paths])
                self.teach(name, to, paths, "--anyway")
            slowest = max(slowest, time.monotonic() - began)
            gestures[name] = to
        taken = {str(path) for paths in examples.values() for path in paths}
        tests = [path for paths in self.classes.values() for path in paths if str(path) not in taken]
        return gestures, tests, slowest, refused, choice

    def judge(self, answers, tests):
        """Right answers, and what each gesture finds and takes, of hits by file."""
        right, found, other = 0, collections.Counter(), collections.Counter()
        of, others = collections.Counter(), collections.Counter()
        for path in tests:
            truth = self.class_of[str(path)]
            hits = answers.get(str(path), {})
            right += bool(hits) and max(hits, key=hits.get) == truth
            for name in self.classes:
                if name == truth:
                    of[name] += 1
                    found[name] += name in hits
                else:
                    others[name] += 1
                    other[name] += name in hits
        names = list(self.classes)
        return (right / len(tests), {n: found[n] / of[n] for n in names}, {n: other[n] / others[n] for n in names})

    def answers(self, hits, key):
        answers = collections.defaultdict(dict)
        for hit in hits:
            name = hit["detector"].removeprefix("class-")
            where = key(hit)
            if where is not None:
                answers[where][name] = max(hit["score"], answers[where].get(name, 0))
        return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gestures", type=pathlib.Path)
    parser.add_argument("everyday", type=pathlib.Path, nargs="*")
    parser.add_argument("--program", default=".build/release/jostle")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every other recording of each class, by number")
    parser.add_argument("--splice", action="store_true", help="also the gestures within everyday motion")
    given = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(given.program, given.gestures, given.everyday, pathlib.Path(scratch), given.half)
        for count, bar in ((3, 0.85), (5, 0.90)):
            rows = []
            for seed in range(given.first, given.first + given.seeds):
                gestures, tests, slowest, refused, choice = bench.draw(seed, count)
                hits = bench.hits(tests, gestures.values())
                right, found, taken = bench.judge(bench.answers(hits, lambda hit: hit["file"]), tests)
                false = collections.Counter()
                if given.everyday:
                    for hit in bench.hits(given.everyday, gestures.values()):
                        false[hit["detector"].removeprefix("class-")] += 1
                within = None
                if given.splice and given.everyday:
                    order = tests[:]
                    choice.shuffle(order)
                    to = bench.scratch / "spliced.csv"
                    spans = spliced(order, given.everyday, to, choice)

                    def place(hit):
                        # A hit is told shortly after the gesture's end, within the rest around it.
                        for path, (begin, end) in zip(order, spans):
                            if begin <= hit["t_us"] < end + 200_000:
                                return str(path)
                        return None

                    inside = bench.judge(bench.answers(bench.hits([to], gestures.values()), place), tests)
                    within = (inside[0], sum(inside[1].values()) / len(inside[1]), sum(inside[2].values()) / len(inside[2]))
                answered = len({hit["file"] for hit in hits}) / len(tests)
                rows.append((right, answered, found, taken, false, within, slowest))
                print(f"seed {seed}, {count} examples: right {right:.3f} (answered {answered:.3f}), alone finds "
                      + " ".join(f"{n}:{v:.2f}" for n, v in found.items()) + ", takes "
                      + " ".join(f"{n}:{v:.2f}" for n, v in taken.items()) + ", false "
                      + " ".join(f"{n}:{false[n]}" for n in found)
                      + (f", spliced right {within[0]:.3f} finds {within[1]:.3f} takes {within[2]:.3f}" if within else "")
                      + f", taught in {slowest:.2f} s", flush=True)
                for line in refused:
                    print(f"  refused: {line}")

            def mean(values):
                values = list(values)
                return sum(values) / len(values)

            right = mean(row[0] for row in rows)
            found = mean(mean(row[2].values()) for row in rows)
            taken = mean(mean(row[3].values()) for row in rows)
            print(f"{count} examples: right {right:.3f} (bar {bar}), of the answered {right / mean(row[1] for row in rows):.3f}, "
                  f"alone finds {found:.3f} (bar 0.80) and takes {taken:.3f} (bar 0.10)")
            if right < bar:
                failed.append(f"right with {count}")
            if found < 0.80 or taken > 0.10:
                failed.append(f"alone with {count}")
            if given.everyday:
                hours = sum(read(path)[1][-1][0] for path in given.everyday) / 3.6e9
                for name in bench.classes:
                    rate = mean(row[4][name] for row in rows) / hours
                    print(f"  {name}: {rate:.2f} false hits an hour in {hours:.2f} h; none would prove no more than {2.996 / hours:.2f}")
                    if rate > 0.6:
                        failed.append(f"everyday {name} with {count}")
            if rows[0][5]:
                gap = [abs(mean(row[5][k] for row in rows) - cut) for k, cut in enumerate((right, found, taken))]
                print("  cut and spliced differ by " + ", ".join(f"{100 * g:.1f}" for g in gap) + " points (right, finds, takes)")
                if max(gap) > 0.03:
                    failed.append(f"spliced with {count}")
    if failed:
        sys.exit("short of the bar: " + "; ".join(failed))


main()
