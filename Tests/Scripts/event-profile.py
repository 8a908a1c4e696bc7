#!/usr/bin/env python3
"""Prints how often the parts of functions ran, for the compiler, of the functions in a list.

usage: event-profile.py LLVM-PROFDATA LIST FILE...

FILEs are what programs wrote that were built with -ir-profile-generate; LIST is what the linker is told. What is printed is
the text form of a profile, which `llvm-profdata merge` makes what -ir-profile-use reads. A line '$0' stands behind the counts of each function:
without it the reader of that form takes the name of a Swift function for something else.
"""

import subprocess
import sys


def main():
    with open(sys.argv[2]) as file:
        names = set(file.read().split())
    merged = subprocess.run(
        [sys.argv[1], "merge", "--text", "-o", "-", *sys.argv[3:]], check=True, capture_output=True, text=True
    ).stdout
    print(":ir")
    for block in merged.split("\n\n"):
        lines = [line for line in block.strip("\n").split("\n") if line and not line.startswith((":", "#"))]
        # A function that others cannot name stands behind its file.
        if lines and lines[0].split(";")[-1] in names:
            end = 3 + int(lines[2])
            print("\n".join(lines[:end] + ["$0"] + lines[end:]))


main()
