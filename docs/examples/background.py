#!/usr/bin/python3
"""Goes on working after the user has left: background.py APPID [SECONDS]

Holds an assertion for its work, and stops in time when the broker says that it ends.
"""

import asyncio
import sys

import jostle


async def main(app_id, seconds="60"):
    async with jostle.App(app_id) as app, app.assertion("example", warning=1) as assertion:
        print("working", flush=True)
        try:
            await asyncio.wait_for(assertion.expiring.wait(), float(seconds))
            print("stopped in time", flush=True)
        except asyncio.TimeoutError:
            print("done", flush=True)


jostle.run(main(*sys.argv[1:]))
