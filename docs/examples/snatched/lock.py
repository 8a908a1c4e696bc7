#!/usr/bin/python3
"""Locks the session when it is started for an event: lock.py APPID

The bus starts it by a service file (org.example.Lock.service stands beside it) when the broker calls it. What it asks is
logind's to do; when that fails the broker hears so, and calls again while the event is of use. After two quiet seconds it ends.
"""

import asyncio
import subprocess
import sys

import jostle

# The session that this user sees, as logind knows it.
LOCK = ["busctl", "--system", "call", "org.freedesktop.login1", "/org/freedesktop/login1/session/auto",
        "org.freedesktop.login1.Session", "Lock"]


async def main(app_id):
    app, called = jostle.App(app_id), asyncio.Event()

    @app.on_launch
    async def launched(launch):
        called.set()
        await asyncio.to_thread(subprocess.run, LOCK, check=True, timeout=3)

    async with app:
        try:
            while await asyncio.wait_for(called.wait(), 2):
                called.clear()
        except asyncio.TimeoutError:
            pass


jostle.run(main(*sys.argv[1:]))
