#!/usr/bin/python3
"""Loses no event and does none twice: careful.py APP FILE [--pass-below G] [PRESET [KEY=VALUE...]]

An app with a name, for which policy says Reliability=ack. FILE remembers the last event that it is done with, so that it
can say so when it comes back. In an ordered group it leaves motion below G to the next app.
"""

import argparse
import asyncio
import os
import sys

from dbus_fast import RequestNameReply, Variant
from dbus_fast.aio import MessageBus

from watch import BROKER, Watch, run


class Careful(Watch):
    def __init__(self, bus, arguments):
        super().__init__(bus, arguments.preset, dict(option.split("=", 1) for option in arguments.options))
        self.name, self.file, self.threshold = arguments.app, arguments.file, arguments.pass_below

    async def register(self):
        if await self.bus.request_name(self.name) not in (
                RequestNameReply.PRIMARY_OWNER, RequestNameReply.ALREADY_OWNER):
            raise RuntimeError(f"{self.name} has another owner")
        self.app = (await self.call(
            self.broker, "/org/jostle/Broker1", BROKER, "Register", "sa{sv}", self.name, {}))[0]
        # Before the detectors, so that what was kept comes first, and the end of it is said.
        done = self.done()
        since = {"since": Variant("(tt)", done)} if done else {}
        await self.call(self.broker, self.app, f"{BROKER}.App", "Subscribe", "a{sv}", since)
        return await self.listen()

    def event(self, sequence, epoch, time, detector, peak, details):
        if "answer-by" in details and peak < self.threshold:
            print(f"event {sequence} is for others, peak {peak:.2f}", flush=True)
            return self.answer("pass", sequence, epoch, details)
        done = self.done()
        if "redelivered" in details and done and sequence <= done[0] and epoch <= done[1]:
            # We are done with it, and our answer was lost. Numbers may begin again some day, epochs never do.
            return self.answer("consume", sequence, epoch, details)
        # The work stands here. Then we note that it is done, and only then say so.
        self.note(sequence, epoch)
        super().event(sequence, epoch, time, detector, peak, details)

    def done(self):
        """The sequence and epoch of the last event that we are done with."""
        try:
            with open(self.file) as file:
                return [int(word) for word in file.read().split()]
        except FileNotFoundError:
            return None

    def note(self, sequence, epoch):
        with open(f"{self.file}.new", "w") as file:
            print(sequence, epoch, file=file, flush=True)
            os.fsync(file.fileno())
        os.replace(f"{self.file}.new", self.file)


async def main():
    parser = argparse.ArgumentParser(description="Loses no event and does none twice.")
    parser.add_argument("app")
    parser.add_argument("file")
    parser.add_argument("--pass-below", metavar="G", type=float, default=0)
    parser.add_argument("preset", nargs="?", default="shake")
    parser.add_argument("options", metavar="KEY=VALUE", nargs="*")
    await run(Careful(await MessageBus().connect(), parser.parse_intermixed_args()))


try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
except (RuntimeError, OSError) as error:
    sys.exit(f"careful.py: {error}")
