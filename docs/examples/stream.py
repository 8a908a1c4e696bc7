#!/usr/bin/python3
"""Reads a sensor as a stream: stream.py [SENSOR] [RATE] [SAMPLES]

Prints a line for each sample: its time in seconds, and its values. Made for hundreds of samples a second and more, which would
cost the bus much; at few, signals do as well.
"""

import sys

import jostle


async def main(sensor="accelerometer", rate="400", samples="0"):
    left, missed = int(samples), 0
    async with jostle.stream(sensor, rate=float(rate)) as stream:
        async for time, values in stream:
            if stream.missed > missed:
                print(f"{stream.missed - missed} samples are missing", flush=True)
                missed = stream.missed
            print(f"{time:.6f}", *(f"{value:.4f}" for value in values), flush=True)
            left -= 1
            if left == 0:
                return


jostle.run(main(*sys.argv[1:]))
