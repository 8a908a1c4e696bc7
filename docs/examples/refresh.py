#!/usr/bin/python3
"""Refreshes itself while nobody looks: refresh.py APPID [MINUTES]

Its app file must say what for ("Usage=...") and name the task ("Tasks=refresh", "Modes=fetch"), and policy must grant the
mode ("Grants=fetch").
"""

import asyncio
import sys

import jostle


async def main(app_id, minutes="15"):
    app = jostle.App(app_id)

    async def submit():
        await app.submit_task("refresh", "refresh", after=60 * float(minutes))
        print("submitted", flush=True)

    @app.on_task
    async def refresh(task):
        print(f"begun: attempt {task.attempt}", flush=True)
        # First thing, so that there is a next one whatever becomes of this one.
        await submit()
        # The work stands here; it is cancelled when its time ends.
        await asyncio.sleep(0.5)
        print("done", flush=True)

    async with app:
        await submit()
        await asyncio.Event().wait()


jostle.run(main(*sys.argv[1:]))
