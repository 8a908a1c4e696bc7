"""A message bus of a test's own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from types import TracebackType
from typing import Self

_CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""
_VARIABLE = "DBUS_SESSION_BUS_ADDRESS"


class PrivateBus:
    """A real bus, which is the session bus of this process as long as it is there. It can go and come back."""

    def __init__(self) -> None:
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._before: str | None = None

    @property
    def address(self) -> str:
        """Where it listens: the same after a restart."""
        assert self._directory, "the bus was not started"
        return f"unix:path={self._directory.name}/bus"

    async def start(self) -> None:
        """Starts the bus, and returns when clients can connect."""
        if self._directory is None:
            # Short, and not TMPDIR: a socket's path has 108 bytes.
            self._directory = tempfile.TemporaryDirectory(prefix="jostle-", dir="/tmp")
        file = f"{self._directory.name}/bus.conf"
        with open(file, "w", encoding="utf-8") as configuration:
            configuration.write(_CONFIGURATION.format(socket=f"{self._directory.name}/bus"))
        self._process = await asyncio.create_subprocess_exec(
            "dbus-daemon", f"--config-file={file}", "--nofork", "--nopidfile", "--print-address=1",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdout
        if not await asyncio.wait_for(self._process.stdout.readline(), 30):
            raise RuntimeError("dbus-daemon does not start")

    async def stop(self) -> None:
        """Ends the bus, as a crash would."""
        if self._process:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.address.removeprefix("unix:path="))

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self._end()
            raise
        self._before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = self.address
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = self._before
        await self._end()

    async def _end(self) -> None:
        """Ends the bus for good."""
        await self.stop()
        if self._directory:
            self._directory.cleanup()
            self._directory = None
