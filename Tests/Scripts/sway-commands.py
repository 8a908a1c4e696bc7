#!/usr/bin/python3
"""Has sway do one thing after the other: sway-commands.py SOCKET COMMAND...

Prints for each the time of CLOCK_MONOTONIC in µs at which it was asked for, and the command. "wait MS" waits so long.
"""

import socket
import struct
import sys
import time


def main():
    path, *commands = sys.argv[1:]
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    for command in commands:
        if command.startswith("wait "):
            time.sleep(float(command.split()[1]) / 1000)
            continue
        print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, command, flush=True)
        body = command.encode()
        connection.sendall(b"i3-ipc" + struct.pack("=II", len(body), 0) + body)
        header = connection.recv(14, socket.MSG_WAITALL)
        answer = connection.recv(struct.unpack("=II", header[6:])[0], socket.MSG_WAITALL)
        assert b'"success": true' in answer or b'"success":true' in answer, answer
    print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, "done", flush=True)


main()
