#!/usr/bin/python3
"""A compositor of our own that listens at SOCKET and tells of windows, or worse: compositor.py SOCKET crowd|garbage|endless|deaf [COUNT].

crowd: COUNT windows, opened one after the other within a second, of ten apps, org.example.App0 to 9; the last one gets in front, and
then "done" is printed. garbage: each client gets a message that cannot be. endless: each gets windows without end, which say 4000 bytes
each. deaf: nobody is answered. Prints "ready", and "client" for each that comes.
"""

import contextlib
import itertools
import os
import socket
import struct
import sys
import time

MANAGER = b"zwlr_foreign_toplevel_manager_v1"


def text(value):
    raw = value + b"\0"
    return struct.pack("=I", len(raw)) + raw + b"\0" * (-len(raw) % 4)


class Client:
    def __init__(self, connection):
        self.connection, self.manager, self.registry = connection, None, None
        self.next = 0xFF000000
        self.inbox = b""

    def send(self, target, opcode, payload=b""):
        self.connection.sendall(struct.pack("=IHH", target, opcode, 8 + len(payload)) + payload)

    def serve(self, until):
        """Answers requests until one of them makes this true."""
        while not until():
            data = self.connection.recv(4096)
            if not data:
                raise ConnectionResetError
            self.inbox += data
            while len(self.inbox) >= 8:
                target, opcode, size = struct.unpack_from("=IHH", self.inbox)
                if len(self.inbox) < size:
                    break
                body, self.inbox = self.inbox[8:size], self.inbox[size:]
                self.handle(target, opcode, body)

    def handle(self, target, opcode, body):
        if (target, opcode) == (1, 1):  # wl_display.get_registry
            self.registry = struct.unpack("=I", body)[0]
            self.send(self.registry, 0, struct.pack("=I", 7) + text(MANAGER) + struct.pack("=I", 3))
        elif (target, opcode) == (1, 0):  # wl_display.sync
            callback = struct.unpack("=I", body)[0]
            self.send(callback, 0, struct.pack("=I", 0))
            self.send(1, 1, struct.pack("=I", callback))
        elif target == self.registry:
            self.manager = struct.unpack("=I", body[-4:])[0]

    def open(self, app, states=()):
        window = self.next
        self.next += 1
        self.send(self.manager, 0, struct.pack("=I", window))
        self.send(window, 0, text(b"what somebody reads"))
        self.send(window, 1, text(app))
        self.state(window, states)
        return window

    def state(self, window, states):
        self.send(window, 4, struct.pack("=I", 4 * len(states)) + b"".join(struct.pack("=I", state) for state in states))
        self.send(window, 5)


# No event of that number; messages shorter than what announces them, or than their own arguments; a text without an end.
GARBAGE = [
    struct.pack("=IHH", 1, 99, 8), struct.pack("=IHH", 1, 0, 0), struct.pack("=IHH", 1, 1, 4), struct.pack("=IHH", 1, 1, 8),
    struct.pack("=IHHIII", 1, 0, 20, 1, 0, 0xFFFFFFF0), struct.pack("=IHHII4s", 1, 0, 20, 1, 4, b"abcd"),
]


def crowd(client, count):
    client.serve(lambda: client.manager is not None)
    start, last = time.monotonic(), None
    for number in range(count):
        last = client.open(b"org.example.App%d" % (number % 10))
        time.sleep(max(0, start + (number + 1) / count - time.monotonic()))
    client.state(last, (2,))
    print("done", flush=True)
    client.serve(lambda: False)


def main():
    path, kind = sys.argv[1:3]
    garbage = itertools.cycle(GARBAGE)
    listener = socket.socket(socket.AF_UNIX)
    if os.path.exists(path):
        os.unlink(path)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        client = Client(listener.accept()[0])
        print("client", flush=True)
        try:
            if kind == "garbage":
                client.connection.recv(4096)
                client.connection.sendall(next(garbage))
                client.serve(lambda: False)
            elif kind == "endless":
                client.serve(lambda: client.manager is not None)
                for _ in range(20_000):
                    client.open(b"x" * 4000)
                    with contextlib.suppress(BlockingIOError):
                        client.connection.recv(65_536, socket.MSG_DONTWAIT)
                print("done", flush=True)
                client.serve(lambda: False)
            elif kind == "deaf":
                while client.connection.recv(4096):
                    pass
            else:
                crowd(client, int(sys.argv[3]))
        except (ConnectionError, BrokenPipeError):
            client.connection.close()


main()
