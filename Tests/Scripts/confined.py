#!/usr/bin/python3
"""Makes a directory of programs whose daemons may ask of the kernel only what their units allow.

confined.py PROGRAMS FOLDER: FOLDER gets links to the programs of PROGRAMS, and in the daemons' places programs that first forbid
themselves what systemd would. `JOSTLE_TEST_PROGRAMS=FOLDER` runs tests with them. Of a unit this takes in SystemCallFilter=,
RestrictAddressFamilies=, RestrictNamespaces=, MemoryDenyWriteExecute= and NoNewPrivileges=, which hold wherever a daemon is started;
what shows it other files, users or devices belongs to a machine of its own, and `make test-installed` has it.
"""

import os
import pathlib
import platform
import re
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"jostle-brokerd": "user/jostle-brokerd.service.in", "jostle-sensord": "system/jostle-sensord.service.in"}
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
EPERM, ENOSYS, EAFNOSUPPORT = 1, 38, 97
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000
WRITE_AND_EXECUTE, EXECUTE, NAMESPACES = 6, 4, 0x7E020000
# The wrapper reads the filter, sets it (PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP), and becomes the daemon.
WRAPPER = """#!/usr/bin/python3 -IS
import ctypes, os, sys
filter = open({filter!r}, "rb").read()
program = ctypes.create_string_buffer(filter, len(filter))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
own = ctypes.CDLL(None, use_errno=True)
if own.prctl(38, 1, 0, 0, 0) or own.prctl(22, 2, ctypes.byref(Program(len(filter) // 8, ctypes.addressof(program))), 0, 0):
    sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
os.execv({daemon!r}, [{daemon!r}, *sys.argv[1:]])
"""


def output(*command, given=None):
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True).stdout


def calls():
    """What the kernel's calls are numbered, and what systemd's sets hold."""
    lines = output("cc", "-E", "-dM", "-", given="#include <sys/syscall.h>\n").splitlines()
    numbers = {name: int(value) for name, value in re.findall(r"^#define __NR_(\w+) (\d+)$", "\n".join(lines), re.M)}
    sets, name = {}, None
    for line in output("systemd-analyze", "--no-pager", "syscall-filter").splitlines():
        if line.startswith("@"):
            name = line
            sets[name] = []
        elif name and line.startswith("    ") and not line.strip().startswith("#"):
            sets[name].append(line.strip())
        elif not line.startswith(" "):
            name = None
    return numbers, sets


def members(words, sets):
    found = set()
    for word in words:
        found |= members(sets[word], sets) if word.startswith("@") else {word}
    return found


def instruction(code, value, then=0, otherwise=0):
    return struct.pack("<HBBI", code, then, otherwise, value)


def load(offset):
    return instruction(0x20, offset)


def argument(number):
    return load(16 + 8 * number)


def masked(bits):
    return instruction(0x54, bits)


def unless(value, count):
    """Skips what follows if the accumulator is another."""
    return instruction(0x15, value, 0, count)


def give(verdict):
    return instruction(0x06, verdict)


def filter_of(unit, numbers, sets):
    keys = {}
    for key, value in re.findall(r"^(\w+)=(.*)$", unit, re.M):
        keys.setdefault(key, []).append(value)
    allowed = members(["@default"], sets)
    for value in keys["SystemCallFilter"]:
        if value.startswith("~"):
            allowed -= members(value[1:].split(), sets)
        else:
            allowed |= members(value.split(), sets)
    families = [FAMILIES[word] for value in keys["RestrictAddressFamilies"] for word in value.split()]
    # Calls that depend on what they are given, each with its own instructions behind the number.
    special = {"socket": [argument(0), *(part for family in families for part in (unless(family, 1), give(ALLOW))),
                          give(ERROR | EAFNOSUPPORT)]}
    if keys["MemoryDenyWriteExecute"] == ["yes"]:
        for name, bits in (("mmap", WRITE_AND_EXECUTE), ("mprotect", EXECUTE), ("pkey_mprotect", EXECUTE)):
            special[name] = [argument(2), masked(bits), unless(bits, 1), give(ERROR | EPERM), give(ALLOW)]
    if keys["RestrictNamespaces"] == ["yes"]:
        special["clone"] = [argument(0), masked(NAMESPACES), unless(0, 1), give(ALLOW), give(ERROR | EPERM)]
        special["clone3"] = [give(ERROR | ENOSYS)]
        special["unshare"] = special["setns"] = [give(ERROR | EPERM)]
    parts = [load(4), instruction(0x15, MACHINES[platform.machine()], 1, 0), give(KILL), load(0)]
    for name in sorted(set(special) & allowed & set(numbers)):
        parts += [unless(numbers[name], len(special[name])), *special[name]]
    for name in sorted((allowed - set(special)) & set(numbers)):
        parts += [unless(numbers[name], 1), give(ALLOW)]
    # As SystemCallErrorNumber= says.
    parts.append(give(ERROR | EPERM))
    return b"".join(parts)


def main(programs, folder):
    programs, folder = pathlib.Path(programs).resolve(), pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    numbers, sets = calls()
    for program in programs.iterdir():
        if program.name not in UNITS and program.is_file() and os.access(program, os.X_OK):
            (folder / program.name).symlink_to(program)
    for daemon, unit in UNITS.items():
        filter = folder / f"{daemon}.filter"
        filter.write_bytes(filter_of((ROOT / "systemd" / unit).read_text(), numbers, sets))
        (folder / daemon).write_text(WRAPPER.format(filter=str(filter), daemon=str(programs / daemon)))
        (folder / daemon).chmod(0o755)


main(*sys.argv[1:])
