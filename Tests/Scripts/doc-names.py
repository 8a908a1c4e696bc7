#!/usr/bin/python3
"""Refuses documents that name what is not there: doc-names.py FILE...

Of the paths in code spans, those that begin at the root of the repository must exist, and so must Swift files that are named
without their folders; of names behind a path (`path`: `a`, `b`) that file must declare each. NAME and Type+Topic stand for names
to be chosen. Prints what is missing and exits with 1.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = re.compile(r"`((?:Sources|Tests|dbus|policies|docs|udev|debian)/[\w+./-]+)`")
STEP = re.compile(r"`(Sources/[\w+./-]+)`: ((?:`\w+`(?:, )?)+)")
KINDS = r"\b(?:func|struct|class|enum|extension|let|var|init|protocol|case|typealias|actor)\s+`?"


def missing(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for name in PATH.findall(line):
            if "NAME" not in name and not (ROOT / name).exists():
                yield number, f"there is no {name}"
        for file, names in STEP.findall(line):
            if not (ROOT / file).is_file():
                continue
            text = (ROOT / file).read_text()
            for name in re.findall(r"`(\w+)`", names):
                if not re.search(KINDS + name + r"\b", text):
                    yield number, f"{file} declares no {name}"
        for name in re.findall(r"`([A-Z]\w*(?:\+\w+)?\.swift)`", line):
            if name not in FILES:
                yield number, f"there is no {name}"


FILES = {path.name for folder in ("Sources", "Tests") for path in (ROOT / folder).rglob("*.swift")}
FILES |= {"Package.swift", "Type+Topic.swift"}


def main():
    failed = False
    for argument in sys.argv[1:]:
        for number, problem in missing(pathlib.Path(argument)):
            print(f"{argument}:{number}: {problem}")
            failed = True
    return 1 if failed else 0


sys.exit(main())
