#!/usr/bin/python3
"""Is started for its events, and told why: woken.py APPID LOG

The bus starts it by a service file (org.example.Woken.service stands beside it) when the broker calls it. What it is launched for is
written to LOG; after five quiet seconds it ends.
"""

import asyncio
import sys

import jostle


async def main(app_id, log):
    app, called = jostle.App(app_id), asyncio.Event()

    # Said before we connect: the call that started us comes as soon as we have our name.
    @app.on_launch
    def launched(launch):
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"launched for {launch.reason}: {' '.join(event.detector for event in launch.events)}\n")
        called.set()

    async with app:
        try:
            while await asyncio.wait_for(called.wait(), 5):
                called.clear()
        except asyncio.TimeoutError:
            pass


jostle.run(main(*sys.argv[1:]))
