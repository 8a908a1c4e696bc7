#!/usr/bin/python3
"""Prints motion events: watch.py [PRESET [KEY=VALUE...]]"""

import sys

import jostle


async def main(preset="shake", *options):
    async with jostle.App() as app:
        app.on_gap(lambda gap: print(f"events {gap.first} to {gap.last} are missing", flush=True))
        app.on_broker_change(lambda is_there: print("the broker is", "back" if is_there else "gone", flush=True))
        detector = await app.add("watch", preset, **dict(option.split("=", 1) for option in options))
        for key, value in detector.options.items():
            print(f"  {key} = {value}")
        print("watching", flush=True)
        async for event in app.events():
            print(f"event {event.sequence}: {event.detector}, peak {event.peak:.2f}", flush=True)


jostle.run(main(*sys.argv[1:]))
