#!/usr/bin/python3
"""Plays beside other apps, as policy has it: session.py APPID CLASS [SECONDS]

Its app file must say what for ("Usage=...") and ask for the mode ("Modes=audio"), and policy must grant it and have the
class.
"""

import asyncio
import sys

import jostle


def changed(session):
    # A player stops at "interrupted", goes on at "resumed" when it is to, and is softer at "ducked".
    hints = {"resume": session.resume, "share": session.share}
    print(session.change, *(f"{key} {hint}" for key, hint in hints.items() if hint is not None), flush=True)


async def main(app_id, name, seconds="60"):
    async with jostle.App(app_id) as app:
        app.on_session(changed)
        async with app.activity("audio", class_=name) as activity:
            try:
                await asyncio.wait_for(activity.ended.wait(), float(seconds))
            except asyncio.TimeoutError:
                pass


jostle.run(main(*sys.argv[1:]))
