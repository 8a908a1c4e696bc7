#!/usr/bin/env python3
"""Plays a minute with three apps on a bus of its own: report-scene.py PROGRAMS DIRECTORY

A broker with a journal, a reader that makes motion, and people who lock the screen, change the app in front and shake. DIRECTORY gets
`journal.db`, and `scope.txt`: what `jostle scope` drew while somebody shook, with the colours of a terminal.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time

PROGRAMS, PLACE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
POLICY = """
[Policy]
Default=deny

[Group shake]
Mode=exclusive
Select=specificity

[App org.example.Music]
Quota=8/1min burst 3

[Rule locked]
Priority=100
WhenLocked=yes
Then=deny
Reason=the screen is locked

[Rule shake]
WhenState=foreground inactive background
Then=allow
Group=shake
"""
children = []


def start(*words, **more):
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True, **more)
    children.append(child)
    return child


def await_line(stream, what):
    for line in stream:
        if what in line:
            return line.strip()
    sys.exit(f"nobody said '{what}'")


def jostle(*words):
    subprocess.run([PROGRAMS / "jostle", *words, "--bus", address], check=True, stdout=subprocess.DEVNULL)


def app(name, *words):
    child = start(PROGRAMS / "jostle", "watch", "--app", name, *words, "--bus", address, stdout=subprocess.DEVNULL,
                  stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    # It is there when the broker knows its detectors.
    while f'"app":"{name}"' not in subprocess.run([PROGRAMS / "jostle", "status", "--json", "--bus", address], check=True,
                                                  stdout=subprocess.PIPE, text=True).stdout:
        if time.monotonic() > deadline:
            sys.exit(f"{name} did not come")
        time.sleep(0.05)
    return child


def front(name):
    """Has an app be in front until it is told otherwise."""
    return start(PROGRAMS / "jostle", "foreground", name, "--bus", address, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(child):
    child.send_signal(signal.SIGINT)
    child.wait(timeout=10)


def shake(peak, pause):
    jostle("shake", "--peak", peak)
    time.sleep(pause)


def play():
    global address
    (PLACE / "policy").mkdir(parents=True, exist_ok=True)
    (PLACE / "policy/20-scene.conf").write_text(POLICY)
    bus = start("dbus-daemon", "--session", "--nofork", "--print-address=1", stdout=subprocess.PIPE, text=True)
    address = bus.stdout.readline().strip()
    reader = start(PROGRAMS / "jostle-sensord", "--bus", address, "--source", "synth:seed=7; noise=0.05g; gravity=z",
                   stderr=subprocess.PIPE, text=True)
    await_line(reader.stderr, "serving")
    broker = start(PROGRAMS / "jostle-brokerd", "--bus", address, "--login-bus", address, "--state-dir", PLACE, "--policy",
                   PLACE / "policy", stderr=subprocess.PIPE, text=True)
    await_line(broker.stderr, "serving")
    music = app("org.example.Music", "shake.planar,threshold=2.3g,rest=300ms")
    pedometer = app("org.example.Pedometer", "shake.magnitude,threshold=1.8g,rest=250ms")
    in_front = front("org.example.Music")
    time.sleep(3)
    for peak in ["2.6g", "3g", "2.9g"]:
        shake(peak, 2.2)
    draw_scope()
    end(in_front)
    in_front = front("org.example.Pedometer")
    for peak in ["2.2g", "3.2g", "2.1g"]:
        shake(peak, 2)
    jostle("lock")
    for peak in ["3g", "2.8g", "3.4g"]:
        shake(peak, 1.8)
    jostle("unlock")
    camera = app("org.example.Camera", "shake.axis,threshold=2.8g,rest=400ms")
    end(in_front)
    in_front = front("org.example.Camera")
    for peak in ["4g", "5g", "2.5g", "4.5g"]:
        shake(peak, 2)
    end(pedometer)
    for peak in ["3g", "4g"]:
        shake(peak, 1.5)
    for child in [in_front, music, camera, broker]:
        end(child)


def draw_scope():
    """Has the scope drawn in a terminal while somebody shakes, and keeps what stands there."""
    name = f"jostle-scope-{os.getpid()}"
    tmux = ["tmux", "-L", name, "-f", "/dev/null"]
    command = f"LANG=C.UTF-8 {PROGRAMS}/jostle scope --bus {address}"
    subprocess.run([*tmux, "new-session", "-d", "-x", "104", "-y", "28", command], check=True,
                   env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"})
    try:
        time.sleep(3)
        shake("3g", 2.4)
        shake("2.1g", 2.2)
        shown = subprocess.run([*tmux, "capture-pane", "-e", "-p"], check=True, stdout=subprocess.PIPE, text=True).stdout
        (PLACE / "scope.txt").write_text(shown)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


address = ""
try:
    play()
finally:
    for child in reversed(children):
        if child.poll() is None:
            child.terminate()
            child.wait(timeout=10)
