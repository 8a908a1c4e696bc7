#!/usr/bin/python3
"""Refuses types that have grown too large: type-sizes.py [--all] FOLDER...

Counts the lines of each top-level type with all of its extensions in one module, and the variables that it stores. Prints
those beyond the limits and exits with 1, unless they stand in the list of exceptions below with at least as much; whoever
makes one of them smaller lowers its numbers there. --all prints every type that is half as large as allowed.
"""

import collections
import pathlib
import re
import sys

LINES, VARIABLES = 600, 16

# Types that are larger, and how large: lines, stored variables.
EXCEPTIONS = {
    # Plain records.
    "BrokerCore.BrokerLimits": (600, 24),
    "Arbitration.Verdict": (600, 22),
    "Arbitration.AppSettings": (600, 18),
}

BEGIN = re.compile(r"^(?:(?:package|public|private|fileprivate|final|indirect|@\w+(?:\([^)]*\))?)\s+)*"
                   r"(?P<kind>struct|class|enum|actor|extension)\s+(?P<name>[\w.]+)")
STORED = re.compile(r"^    (?:(?:package|public|private|fileprivate|internal|unowned|weak|lazy|@\w+(?:\([^)]*\))?"
                    r"|(?:private|package|internal)\(set\))\s+)*(?P<how>var|let)\s+(?P<name>\(?\w+)")


def stored(line):
    """Whether a line of a type's own level declares something that it stores."""
    match = STORED.match(line)
    if not match:
        return False
    rest = line[match.end():]
    # A computed one begins its body on the same line, and assigns nothing before.
    brace = rest.find("{")
    return brace < 0 or 0 <= rest.find("=") < brace or rest.rstrip().endswith("didSet {")


def measure(folder):
    lines, variables = collections.Counter(), collections.Counter()
    for path in sorted(folder.rglob("*.swift")):
        module = path.relative_to(folder).parts[0]
        current = None
        for line in path.read_text().splitlines():
            begins = BEGIN.match(line)
            if begins:
                current = (module, begins["name"].split(".")[0], begins["kind"])
            if current is None:
                continue
            lines[current[:2]] += 1
            if current[2] != "extension" and not re.match(r"^    .*\bstatic\b", line) and stored(line):
                variables[current[:2]] += 1
            if line.startswith("}") or (begins and line.rstrip().endswith("}")):
                current = None
    return lines, variables


def main():
    arguments = [word for word in sys.argv[1:] if word != "--all"]
    failed = False
    for folder in arguments:
        lines, variables = measure(pathlib.Path(folder))
        for module, name in sorted(lines, key=lambda key: -lines[key]):
            key, found = f"{module}.{name}", (lines[module, name], variables[module, name])
            allowed = EXCEPTIONS.get(key, (LINES, VARIABLES))
            if found[0] > allowed[0] or found[1] > allowed[1]:
                print(f"{key}: {found[0]} lines and {found[1]} stored variables; {allowed[0]} and {allowed[1]} are allowed")
                failed = True
            elif key in EXCEPTIONS and found[0] <= LINES and found[1] <= VARIABLES:
                print(f"{key}: is no exception any more; take it out of the list")
                failed = True
            elif "--all" in sys.argv and (found[0] > LINES // 2 or found[1] > VARIABLES // 2):
                print(f"{key}: {found[0]} lines, {found[1]} stored variables")
    return failed


if __name__ == "__main__":
    sys.exit(main())
