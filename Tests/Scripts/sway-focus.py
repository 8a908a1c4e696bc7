#!/usr/bin/python3
"""Has sway give the keyboard to two apps in turn, every 50 ms: sway-focus.py SOCKET COUNT APP APP.

Prints the time of CLOCK_MONOTONIC in µs at which each change was asked for, and the app.
"""

import socket
import struct
import sys
import time


def main():
    path, count, *apps = sys.argv[1:]
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    for number in range(int(count)):
        app = apps[number % 2]
        command = f"[app_id={app}] focus".encode()
        print(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, app, flush=True)
        connection.sendall(b"i3-ipc" + struct.pack("=II", len(command), 0) + command)
        header = connection.recv(14, socket.MSG_WAITALL)
        connection.recv(struct.unpack("=II", header[6:])[0], socket.MSG_WAITALL)
        time.sleep(0.05)
    print("done", flush=True)


main()
