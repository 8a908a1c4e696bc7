#!/usr/bin/python3
"""Installs, upgrades, removes and purges the Debian packages in a Debian of their own, and says what is left.

packages.py FOLDER: the packages are in FOLDER, as `make deb` leaves them; the Debian is made there, too, and ends with
the run. No systemd is at work in it. Needs root, and Debian's servers. Exits 1 when something is not as it is to be.
"""

import hashlib
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import time

# What apt, dpkg and the linker write for themselves.
NOT_OURS = (
    "dev", "proc", "run", "sys", "tmp", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log", "etc/ld.so.cache",
    "var/lib/systemd/catalog", "root/.cache")
# The user and the group of a service stay in Debian, with nothing that belongs to them.
ACCOUNTS = {f"etc/{name}{old}" for name in ("passwd", "shadow", "group", "gshadow") for old in ("", "-")}
# What a package that was removed, and not purged, may leave: its policy, its state, and which of its units were on.
KEPT = ("etc/jostle", "var/lib/jostle", "etc/systemd/user", "var/lib/systemd")

# Runs what is called as a broker is in a root of its own: a file system with nothing but that and the libraries of the Debian that is tested.
CONTAINER = """
import ctypes, os, subprocess, sys
os.chdir(sys.argv[1])
subprocess.run(["sh", "-ec", "mount -t tmpfs box box; cd box; mkdir -p usr/lib usr/lib64 usr/libexec; mount --bind ../usr/lib usr/lib; "
    "mount --bind ../usr/lib64 usr/lib64; ln -s usr/lib lib; ln -s usr/lib64 lib64; cp ../usr/bin/sleep usr/libexec/jostle-brokerd"], check=True)
os.chdir("box")
libc = ctypes.CDLL(None)
assert libc.pivot_root(b".", b".") == 0 and libc.umount2(b".", 2) == 0
os.chdir("/")
os.execv("/usr/libexec/jostle-brokerd", ["jostle-brokerd", "infinity"])
"""

# What `make deb` makes.
PACKAGES = ("jostle", "jostle-bridge", "jostle-doc", "jostle-fleet", "jostle-focus", "jostle-sensor-proxy", "python3-jostle")

problems = []


def check(isRight, what):
    print(("ok      " if isRight else "WRONG   ") + what)
    if not isRight:
        problems.append(what)


def run(*command):
    result = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        print(result.stdout)
        raise SystemExit(f"packages.py: {' '.join(map(str, command))}: status {result.returncode}")
    return result.stdout


class Machine:
    """A Debian in a folder."""

    def __init__(self, root):
        self.root = root
        self.inside = (
            "chroot", root, "env", "-i", "DEBIAN_FRONTEND=noninteractive", "HOME=/root", "LC_ALL=C.UTF-8",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin")

    def run(self, *command):
        return run(*self.inside, *command)

    def apt(self, *words):
        return self.run("apt-get", "-q", "-y", "--no-install-recommends", *words)

    def files(self):
        """What stands where, and as whose."""
        found = {}
        for folder, folders, names in os.walk(self.root):
            inside = os.path.relpath(folder, self.root)
            folders[:] = [name for name in folders if os.path.normpath(f"{inside}/{name}") not in NOT_OURS]
            for name in folders + names:
                path = os.path.normpath(f"{inside}/{name}")
                if path in NOT_OURS:
                    continue
                status = os.lstat(self.root / path)
                content = ""
                if stat.S_ISLNK(status.st_mode):
                    content = os.readlink(self.root / path)
                elif stat.S_ISREG(status.st_mode):
                    content = hashlib.sha256((self.root / path).read_bytes()).hexdigest()
                found[path] = (oct(status.st_mode), status.st_uid, status.st_gid, content)
        return found

    def path(self, name):
        return self.root / name


def difference(before, after):
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def later(package, folder):
    """The same package as a later version."""
    with tempfile.TemporaryDirectory() as directory:
        content = pathlib.Path(directory) / "content"
        run("dpkg-deb", "-R", package, content)
        control = content / "DEBIAN/control"
        lines = control.read_text().splitlines()
        lines = [line + "+later" if line.startswith("Version: ") else line for line in lines]
        control.write_text("\n".join(lines) + "\n")
        run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "-b", content, folder / package.name)


def test(folder, directory):
    packages = sorted(folder.glob("*jostle*.deb"))
    if len(packages) != len(PACKAGES):
        raise SystemExit(f"packages.py: {folder} has {len(packages)} packages, and not {len(PACKAGES)}: make deb")
    version = run("dpkg-deb", "-f", packages[0], "Version").strip()
    machine = Machine(directory / "root")
    options = []
    if os.path.isdir("/etc/apt/apt.conf.d"):
        wanted = run("sh", "-c", "apt-config dump | grep -E '^Acquire::(http|https)::(Proxy|CaInfo)' || true")
        options = [f"--aptopt={line}" for line in wanted.splitlines()]
    run("mmdebstrap", "--mode=root", "--variant=apt", *options, "bookworm", machine.root)
    run("mount", "-t", "proc", "proc", machine.path("proc"))
    run("mount", "--bind", "/dev", machine.path("dev"))
    for place in ("first", "later"):
        machine.path(f"tmp/{place}").mkdir()
    main = [package.name for package in packages if not package.name.startswith("jostle-sensor-proxy")]
    proxy = next(package.name for package in packages if package.name.startswith("jostle-sensor-proxy"))
    for package in packages:
        run("cp", package, machine.path("tmp/first"))
        later(package, machine.path("tmp/later"))
    first = [f"/tmp/first/{name}" for name in main]
    ours = [name.split("_")[0] for name in main]

    # What ours need is there before, so that what it leaves is not taken for ours.
    machine.apt("update")
    wanted = machine.apt("-s", "install", "dbus-daemon", *first)
    needed = [line.split()[1] for line in wanted.splitlines() if line.startswith("Inst ")]
    machine.apt("install", *(name for name in needed if "jostle" not in name))
    before = machine.files()

    machine.apt("install", *first)
    check(machine.run("jostle", "--version").strip() == f"jostle {version}", f"jostle {version} is installed")
    identity = machine.run("id", "jostle")
    check("groups=" in identity and "," not in identity, f"there is a user for the reader: {identity.strip()}")
    needs = machine.run("sh", "-c", "ldd /usr/bin/jostle /usr/libexec/jostle-* /usr/libexec/jostle/*")
    check("not found" not in needs and "swift" not in needs, "the programs find their libraries, and none is Swift's")
    demo = machine.run("timeout", "120", "dbus-run-session", "--", "jostle", "demo")
    check(len(demo.splitlines()) > 3, "jostle demo runs")
    machine.run("python3", "-c", "import jostle, jostle.testing")
    check(machine.path("usr/share/doc/jostle/README.md").exists(), "the documents are there")

    conffile = machine.path("etc/jostle/policy.d/50-local.conf")
    conffile.write_text("# changed by its administrator\n")
    # Nobody has it before a broker of the system bus was started: its unit makes it.
    state = machine.path("var/lib/jostle")
    check(not state.exists(), "there is no directory for a broker that is not there")
    machine.run("install", "-d", "-o", "jostle", "-g", "jostle", "-m", "700", "/var/lib/jostle")
    (state / "state.db").write_text("kept")
    # The file of its program is another one after the upgrade.
    older = subprocess.Popen(
        [*machine.inside, "dbus-run-session", "--", "/usr/libexec/jostle-focus", "--source", "x11::4711"],
        stderr=subprocess.PIPE, text=True)
    for line in older.stderr:
        if "serving" in line:
            break
    machine.apt("install", *(f"/tmp/later/{name}" for name in main))
    check("+later" in machine.run("dpkg-query", "-W", "jostle"), "an upgrade is one")
    check(conffile.read_text() == "# changed by its administrator\n", "an upgrade keeps changed policy")
    check((state / "state.db").read_text() == "kept", "an upgrade keeps state")

    daemon = subprocess.Popen(
        [*machine.inside, "dbus-run-session", "--", "/usr/libexec/jostle-brokerd", "--no-journal"],
        stderr=subprocess.PIPE, text=True)
    for line in daemon.stderr:
        if "serving" in line:
            break
    machine.path("box").mkdir()
    contained = subprocess.Popen(["unshare", "--mount", sys.executable, "-c", CONTAINER, machine.root])
    deadline = time.monotonic() + 30
    while os.readlink(f"/proc/{contained.pid}/exe") != "/usr/libexec/jostle-brokerd" and time.monotonic() < deadline:
        time.sleep(0.1)
    machine.apt("remove", *ours)
    for process, what in ((daemon, "a daemon that no systemd has started"), (older, "one from before the upgrade")):
        try:
            process.wait(20)
            check(True, f"removal stops {what}")
        except subprocess.TimeoutExpired:
            process.kill()
            check(False, f"removal stops {what}")
    check(contained.poll() is None, "removal leaves the daemon of a container alone")
    contained.kill()
    contained.wait()
    machine.path("box").rmdir()
    left = [path for path in difference(before, machine.files()) if path not in ACCOUNTS]
    check(
        bool(left) and all(path.startswith(KEPT) for path in left),
        f"removal leaves policy and state: {', '.join(left)}")
    # apt does not know any more of a package of which removal left nothing.
    machine.run("dpkg", "--purge", *ours)
    left = [path for path in difference(before, machine.files()) if path not in ACCOUNTS]
    check(not left, f"purge leaves nothing{': ' if left else ''}{', '.join(left)}")

    fleet = next(name for name in first if "/jostle-fleet_" in name)
    machine.apt("install", fleet)
    installed = machine.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n").splitlines()
    check("jostle installed" not in installed, "an operator's machine needs nothing but jostle-fleet")
    check(machine.run("jostle-fleet", "--version").strip() == f"jostle-fleet {version}", "jostle-fleet runs there")
    machine.apt("purge", "jostle-fleet")

    machine.apt("install", "iio-sensor-proxy")
    machine.apt("install", *first, f"/tmp/first/{proxy}")
    installed = machine.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n")
    isGone = "iio-sensor-proxy installed" not in installed.splitlines()
    check(isGone, "jostle-sensor-proxy takes iio-sensor-proxy's place")
    check("jostle-sensor-proxy installed" in installed.splitlines(), "jostle-sensor-proxy is installed")


def inside(folder):
    with tempfile.TemporaryDirectory(dir=folder, prefix="debian-") as directory:
        directory = pathlib.Path(directory)
        try:
            test(folder, directory)
        finally:
            for place in ("proc", "dev"):
                subprocess.run(["umount", "-l", directory / "root" / place], stderr=subprocess.DEVNULL)
    if problems:
        sys.exit(f"packages.py: {len(problems)} things are wrong")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        # Mounts and processes of its own, which end with it.
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__]
        os.execvp(command[0], [*command, sys.argv[1], "inside"])
    inside(pathlib.Path(sys.argv[1]).resolve())
