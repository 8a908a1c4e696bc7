#!/usr/bin/python3
"""An X server of our own that hangs: x-server.py refusal|greeting|answer|deaf|stranger|restless.

Prints its display, such as ":7000", and "hangs" when it says nothing more. refusal: the first client is not taken in, and those after it
are not answered. greeting: half of it is sent. answer: the client is taken in, and half of an answer is sent. deaf: the client is taken in,
is told without end that the list of windows changed, and nothing that it asks is read; it "hangs" when that client has left. stranger:
it listens as the user nobody, and prints how many bytes the client said first, such as "heard 12 bytes". restless: it does not hang. There
are two windows, the first of which is in front; the state of the other changes before each answer about it.
"""

import os
import signal
import socket
import struct
import sys
import time

FOLDER = "/tmp/.X11-unix"
ROOT = 0x123
# A setup with one screen that has no depths.
SCREEN = struct.pack("<I", ROOT) + bytes(36)
SETUP = struct.pack("<IIIIHHBB", 0, 0x200000, 0x1FFFFF, 0, 0, 65_535, 1, 0) + bytes(10) + SCREEN
GREETING = struct.pack("<BBHHH", 1, 0, 11, 0, len(SETUP) // 4) + SETUP
REFUSAL = struct.pack("<BBHHH", 0, 0, 11, 0, 0)
# An answer that is to have 4000 bytes more than came.
ANSWER = struct.pack("<BBHI", 1, 0, 1, 1000) + bytes(24)


def listen():
    os.makedirs(FOLDER, exist_ok=True)
    for number in range(7000, 8000):
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(f"{FOLDER}/X{number}")
        except OSError:
            listener.close()
            continue
        listener.listen()
        print(f":{number}", flush=True)
        return listener
    raise SystemExit("no display is free")


def hang():
    print("hangs", flush=True)
    while True:
        time.sleep(1000)


def flood(client):
    """Has no extension, gives the names that are asked for their numbers, and tells of the first name until the client leaves."""
    client.sendall(struct.pack("<BBHI", 1, 0, 1, 0) + bytes(24))
    client.sendall(b"".join(struct.pack("<BBHII", 1, 0, 2 + name, 0, 100 + name) + bytes(20) for name in range(12)))
    event = struct.pack("<BBHII", 28, 0, 13, ROOT, 100) + bytes(20)
    try:
        while True:
            client.sendall(event * 100)
    except ConnectionError:
        pass


def requests(client):
    """The requests of a client, one after the other, with their numbers."""
    data, number = b"", 0
    while True:
        while len(data) < 4 or len(data) < 4 * struct.unpack_from("<H", data, 2)[0]:
            try:
                more = client.recv(65_536)
            except ConnectionError:
                return
            if not more:
                return
            data += more
        length = 4 * struct.unpack_from("<H", data, 2)[0]
        number += 1
        yield number & 0xFFFF, data[:length]
        data = data[length:]


def serve(client):
    """Has two windows, one of which never rests."""
    quiet, restless, state = 0x400001, 0x400002, 108
    properties = {(ROOT, 100): (32, struct.pack("<II", quiet, restless)), (ROOT, 101): (32, struct.pack("<I", quiet))}
    for window, name in (quiet, b"Alpha"), (restless, b"Beta"):
        properties[window, 67] = (8, b"x\0org.example." + name + b"\0")
    atoms = 0
    for number, request in requests(client):
        if request[0] == 98:  # QueryExtension: there is none
            client.sendall(struct.pack("<BBHI", 1, 0, number, 0) + bytes(24))
        elif request[0] == 16:  # InternAtom
            client.sendall(struct.pack("<BBHII", 1, 0, number, 0, 100 + atoms) + bytes(20))
            atoms += 1
        elif request[0] == 20:  # GetProperty
            window, atom = struct.unpack_from("<II", request, 4)
            kind, value = properties.get((window, atom), (0, b""))
            padded = value + bytes(-len(value) % 4)
            head = struct.pack("<BBHIIII", 1, kind, number, len(padded) // 4, 1, 0, len(value) * 8 // kind if kind else 0)
            if window == restless:
                time.sleep(0.001)
                client.sendall(struct.pack("<BBHII", 28, 0, number, window, state) + bytes(20))
            client.sendall(head + bytes(12) + padded)


def main():
    kind = sys.argv[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    if kind == "stranger":
        # As X servers make it: for all.
        os.makedirs(FOLDER, exist_ok=True)
        os.chmod(FOLDER, 0o1777)
        os.setgid(65_534)
        os.setuid(65_534)
    listener = listen()
    try:
        client = listener.accept()[0]
        said = client.recv(4096)
        if kind == "stranger":
            print(f"heard {len(said)} bytes", flush=True)
        elif kind == "refusal":
            client.sendall(REFUSAL)
            client = listener.accept()[0]
        elif kind == "greeting":
            client.sendall(GREETING[: len(GREETING) // 2])
        elif kind == "answer":
            client.sendall(GREETING + ANSWER)
        elif kind == "restless":
            client.sendall(GREETING)
            return serve(client)
        else:
            client.sendall(GREETING)
            flood(client)
        hang()
    finally:
        os.unlink(listener.getsockname())


main()
