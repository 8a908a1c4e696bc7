#!/usr/bin/python3
"""Refuses documents that name what is not there: doc-names.py FILE...

Of the paths in code spans, those that begin at the root of the repository must exist, and so must Swift files that are named
without their folders; of names behind a path (`path`: `a`, `b`) that file must declare each. Of a table whose last column is
headed "shown by" each row must name in that way a test, and no name there may be anything else. What `busctl call` calls of ours must be
in an interface file, with those arguments. NAME and Type+Topic stand for names to be chosen. Prints what is missing and exits with 1.
"""

import pathlib
import re
import shlex
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = re.compile(r"`((?:Sources|Tests|dbus|policies|docs|udev|debian)/[\w+./-]+)`")
STEP = re.compile(r"`((?:Sources|Tests)/[\w+./-]+)`: ((?:`\w+`(?:, )?)+)")
# A function that is a test, whatever is said of it before its name.
TEST = re.compile(r"@Test\b((?:(?!\bfunc\b|@Test\b).)*)\bfunc (\w+)", re.DOTALL)
KINDS = r"\b(?:func|struct|class|enum|extension|let|var|init|protocol|case|typealias|actor)\s+`?"


def tests(file):
    """The names of the tests in a Swift file; what is always left out is none."""
    text = "\n".join(line for line in file.read_text().splitlines() if not line.lstrip().startswith("//"))
    return {name for traits, name in TEST.findall(text) if not re.search(r"\.disabled\((?!if:)", traits)}


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def unshown(number, line):
    """What a row of a table lacks whose last column says by which tests it is shown."""
    steps = STEP.findall(cells(line)[-1])
    if not steps:
        yield number, f"no test shows '{cells(line)[0]}'"
    for file, names in steps:
        if not (ROOT / file).is_file():
            continue
        for name in re.findall(r"`(\w+)`", names):
            if name not in tests(ROOT / file):
                yield number, f"{file} has no test {name}"


def signatures(interface):
    """What the methods of one of our interfaces take."""
    file = ROOT / f"dbus/{interface}.xml"
    methods = xml.etree.ElementTree.parse(file).iter("method") if file.is_file() else ()
    return {
        method.get("name"): "".join(
            argument.get("type") for argument in method.iter("arg") if argument.get("direction", "in") == "in")
        for method in methods}


def uncallable(number, line):
    """What is wrong with a call that somebody is to type."""
    words = shlex.split(line.rstrip("\\"), comments=True)
    _, _, interface, member, given, *_ = words[words.index("call") + 1:] + [""] * 5
    if not interface.startswith("org.jostle."):
        return
    taken = signatures(interface).get(member)
    if taken != given:
        yield number, f"{member} of {interface} takes '{taken}', and is given '{given}'"


def missing(path):
    # In a table that is headed so, between its heading and what follows it.
    is_shown, has_begun = False, False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.startswith("|"):
            is_shown = has_begun = False
        elif not has_begun:
            is_shown, has_begun = cells(line)[-1] == "shown by", True
        elif is_shown and set(line) - set("|-: "):
            yield from unshown(number, line)
        if re.match(r"busctl .*\bcall ", line):
            yield from uncallable(number, line)
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
