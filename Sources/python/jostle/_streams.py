"""Samples of a sensor, over a descriptor: no message passes the bus for them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Self

from dbus_fast import Variant

from ._errors import DISCONNECTED, NOT_FOUND, JostleError
from ._names import FAILED, READER, READER_PATH, SENSOR
from ._own import keep_from_children
from ._wire import Wire, plain, take_descriptor, time_of

_HEAD = struct.Struct("=IIQ")
_SAMPLES, _GAP, _CAUGHT_UP = 1, 2, 3
_PACKET_BYTES = 65_536
_MICRO = 1_000_000


class Sample(NamedTuple):
    """One sample."""

    time: float
    """When it was taken, in seconds of CLOCK_BOOTTIME."""
    values: tuple[float, ...]
    """A value for each channel, in the sensor's unit."""


class Batch:
    """Samples that came together. Nothing is copied: its views are of the packet that came."""

    def __init__(self, sequence: int, rows: memoryview, channels: Sequence[str]) -> None:
        self.sequence = sequence
        """The number of the first sample, counted from 0."""
        self._rows, self._channels = rows, channels
        self._width = 1 + len(channels)

    def __len__(self) -> int:
        return len(self._rows) // (8 * self._width)

    @property
    def times(self) -> memoryview[int]:
        """The time of each sample, in microseconds of CLOCK_BOOTTIME (format ``Q``)."""
        return self._rows.cast("Q")[:: self._width]

    def values(self, channel: str | int) -> memoryview[float]:
        """The values of one channel, by its name or number (format ``d``)."""
        index = channel if isinstance(channel, int) else self._channels.index(channel)
        if not 0 <= index < len(self._channels):
            raise IndexError(f"there is no channel {channel}: there are {', '.join(self._channels)}")
        return self._rows.cast("d")[1 + index :: self._width]

    def __iter__(self) -> Iterator[Sample]:
        for time, *values in struct.iter_unpack(f"=Q{self._width - 1}d", self._rows):
            yield Sample(time / _MICRO, tuple(values))


class Stream:
    """The samples of a sensor, one after the other; ``batches`` gives those together that came together."""

    def __init__(self, end: socket.socket, channels: Sequence[str], in_force: dict[str, Any]) -> None:
        self.channels = tuple(channels)
        """What the values of a sample stand for, such as x, y, z."""
        self.rate = float(in_force.get("rate", 0))
        """Samples a second, as the reader gives them."""
        self.in_force = in_force
        """All that is in force, by the bus's words."""
        self.missed = 0
        """How many samples did not come so far, because nobody read them in time or the device was away."""
        self._end = end
        self._waiters: set[asyncio.Event] = set()
        self._next: int | None = None
        self._waiting: Iterator[Sample] = iter(())

    def batches(self) -> AsyncIterator[Batch]:
        """Samples as they came together, until the reader is gone, which is a `JostleError`."""
        return _Batches(self)

    async def _next_batch(self) -> Batch:
        """The next samples that came together. Whoever is cancelled while waiting for them loses none."""
        while packet := await self._packet():
            kind, count, sequence = self._head(packet)
            if self._next is not None and sequence > self._next:
                self.missed += sequence - self._next
            self._next = max(sequence, self._next or 0)
            if kind == _GAP:
                self.missed += count
                self._next = sequence + count
            elif kind == _SAMPLES:
                self._next = sequence + count
                return Batch(sequence, memoryview(packet)[_HEAD.size :], self.channels)
        raise JostleError(DISCONNECTED, f"the reader ({READER}) is gone")

    def _head(self, packet: bytes) -> tuple[int, int, int]:
        """What a packet is: kind, count, and number of the first sample. What follows is as long as it says."""
        if len(packet) >= _HEAD.size:
            kind, count, sequence = _HEAD.unpack_from(packet)
            if kind != _SAMPLES or len(packet) - _HEAD.size == count * 8 * (1 + len(self.channels)):
                return kind, count, sequence
        raise JostleError(FAILED, f"the reader ({READER}) sent a packet of {len(packet)} bytes that is none")

    async def _packet(self) -> bytes:
        """The next packet; nothing when the reader closed its end, before it read what we asked for or after."""
        while True:
            if self._end.fileno() < 0:
                raise JostleError(DISCONNECTED, "the stream is closed: the body that it was for has been left")
            # It is taken when nothing is waited for any more: what the loop had read for us, a cancellation would lose.
            try:
                return self._end.recv(_PACKET_BYTES)
            except BlockingIOError:
                await self._readable()
            except ConnectionError:
                return b""

    async def _readable(self) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        self._waiters.add(ready)
        loop.add_reader(self._end, self._wake)
        try:
            await ready.wait()
        finally:
            self._waiters.discard(ready)
            if not self._waiters and self._end.fileno() >= 0:
                loop.remove_reader(self._end)

    def _wake(self) -> None:
        for waiter in self._waiters:
            waiter.set()

    def _close(self) -> None:
        """Ends it, also for whoever still waits for a sample.

        Closed while the loop watches it, it would have the loop take whatever has its number next for it, and never hear that.
        """
        asyncio.get_running_loop().remove_reader(self._end)
        self._end.close()
        self._wake()

    def flush(self) -> None:
        """Asks for all samples that are held back."""
        with contextlib.suppress(OSError):
            self._end.send(b"flush")

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sample:
        while (sample := next(self._waiting, None)) is None:
            self._waiting = iter(await self._next_batch())
        return sample


class _Batches:
    """The batches of a stream, one after the other."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        return await self._stream._next_batch()


@contextlib.asynccontextmanager
async def _reader(bus: str) -> AsyncIterator[tuple[Wire, str]]:
    """A connection, and the unique name of the reader, which the bus starts if it can."""
    wire = Wire(bus)
    await wire.open()
    try:
        if (owner := await wire.start_service(READER)) is None:
            raise JostleError(DISCONNECTED, f"the reader ({READER}) is not running")
        yield wire, owner
    finally:
        await wire.close()


@contextlib.asynccontextmanager
async def stream(
    sensor: str = "accelerometer",
    *,
    rate: float,
    batch_latency: float = 0,
    passive: bool = False,
    decimation: Literal["last", "mean", "peak"] = "last",
    or_slower: bool = False,
    bus: str = "session",
) -> AsyncIterator[Stream]:
    """Reads a sensor while the body runs.

    >>> async with jostle.stream("accelerometer", rate=200) as samples:
    ...     async for time, (x, y, z) in samples:
    ...         print(time, x, y, z)

    Most apps want detectors, and not samples: see `App`.

    :param rate: samples a second
    :param batch_latency: how long samples may be held back so that several travel together, in seconds
    :param passive: take what the device does for others, and never let it run, or run faster, for this
    :param decimation: what comes of samples that are read for faster claimants
    :param or_slower: where policy does not allow the rate, the fastest that it allows rather than an error
    """
    options = {"rate": Variant("d", float(rate))}
    if batch_latency:
        options["batch-latency"] = time_of("batch_latency", batch_latency)
    if decimation != "last":
        options["decimation"] = Variant("s", decimation)
    options |= {key: Variant("b", True) for key, on in {"passive": passive, "or-slower": or_slower}.items() if on}
    async with _reader(bus) as (wire, owner):
        known = await _list(wire, owner)
        if sensor not in known:
            raise JostleError(NOT_FOUND, f"there is no sensor '{sensor}': there are {', '.join(known) or 'none'}")
        path, description = known[sensor]
        reply = await wire.call(owner, path, SENSOR, "OpenStream", "a{sv}", [options], service=READER)
        with keep_from_children(socket.socket(fileno=take_descriptor(reply, reply.body[0]))) as end:
            end.setblocking(False)
            samples = Stream(end, description["channels"], plain(reply.body[1]))
            try:
                yield samples
            finally:
                samples._close()


async def sensors(*, bus: str = "session") -> dict[str, dict[str, Any]]:
    """What the reader has, by name: for each sensor what ``ListSensors`` of org.jostle.Sensors1 says of it."""
    async with _reader(bus) as (wire, owner):
        return {name: description for name, (_, description) in (await _list(wire, owner)).items()}


async def _list(wire: Wire, owner: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """The object and the description of each sensor, by its name."""
    reply = await wire.call(owner, READER_PATH, READER, "ListSensors", "a{sv}", [{}], service=READER)
    rows = [(path, plain(wrapped)) for path, wrapped in reply.body[0]]
    return {description["name"]: (path, description) for path, description in rows}
