#!/usr/bin/python3
"""Loses no event and does none twice: careful.py APP FILE [--pass-below G] [PRESET [KEY=VALUE...]]

An app with a name, for which policy says Reliability=ack. FILE remembers the last event that it is done with, so that it
can say so when it comes back. In an ordered group it leaves motion below G to the next app.
"""

import argparse
import os

import jostle


def done(file):
    """The name of the last event that we are done with."""
    try:
        with open(file) as lines:
            return jostle.EventName(*map(int, lines.read().split()))
    except FileNotFoundError:
        return None


def note(file, event):
    with open(f"{file}.new", "w") as lines:
        print(*event.name, file=lines, flush=True)
        os.fsync(lines.fileno())
    os.replace(f"{file}.new", file)


async def main(app_id, file, limit, preset, options):
    async with jostle.App(app_id) as app:
        app.on_gap(lambda gap: print(f"events {gap.first} to {gap.last} are missing", flush=True))
        app.on_caught_up(lambda last: print("nothing more is kept", flush=True))
        # Before the detectors, so that what was kept comes first, and the end of it is said.
        await app.subscribe(since=done(file))
        await app.add("watch", preset, **options)
        print("watching", flush=True)
        async for event in app.events():
            if event.answer_by and event.peak < limit:
                print(f"event {event.sequence} is for others, peak {event.peak:.2f}", flush=True)
                app.pass_on(event)
                continue
            last = done(file)
            if event.redelivered and last and event.sequence <= last.sequence and event.epoch <= last.epoch:
                # We are done with it, and our answer was lost. Numbers may begin again some day, epochs never do.
                continue
            # The work stands here. Then we note that it is done; the broker is told when we ask for the next one.
            note(file, event)
            again = ", sent again" if event.redelivered else ""
            print(f"event {event.sequence}: {event.detector}, peak {event.peak:.2f}{again}", flush=True)


parser = argparse.ArgumentParser(description="Loses no event and does none twice.")
parser.add_argument("app")
parser.add_argument("file")
parser.add_argument("--pass-below", metavar="G", type=float, default=0)
parser.add_argument("preset", nargs="?", default="shake")
parser.add_argument("options", metavar="KEY=VALUE", nargs="*")
given = parser.parse_intermixed_args()
jostle.run(main(
    given.app, given.file, given.pass_below, given.preset, dict(option.split("=", 1) for option in given.options)))
