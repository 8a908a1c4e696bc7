#!/usr/bin/python3
"""A socket in the place of a bus, for tests of who waits for what: faulty-bus.py PATH ends|silent|ownerless [BUS]

    ends       takes connections, and ends each
    silent     takes connections, and says nothing
    ownerless  hands on what is said to the bus at the path BUS and by it, but for questions after the owner of a name

Says "listening" when somebody can connect.
"""

import socket
import struct
import sys
import threading


def hand_back(bus, peer):
    while data := bus.recv(65536):
        peer.sendall(data)


def hand_on(peer, bus):
    stream = peer.makefile("rb")
    line = b""
    while line != b"BEGIN\r\n":
        line = stream.readline()
        bus.sendall(line)
        if not line:
            return
    while len(head := stream.read(16)) == 16:
        body, _, fields = struct.unpack(("<" if head[:1] == b"l" else ">") + "III", head[4:])
        message = head + stream.read(fields + -fields % 8 + body)
        if b"GetNameOwner" not in message:
            bus.sendall(message)


def main():
    path, fault, *upstream = sys.argv[1:]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("listening", flush=True)
    kept = []
    while True:
        peer, _ = listener.accept()
        if fault == "ends":
            peer.close()
            continue
        kept.append(peer)
        if fault == "ownerless":
            bus = socket.socket(socket.AF_UNIX)
            bus.connect(upstream[0])
            for work, ends in ((hand_on, (peer, bus)), (hand_back, (bus, peer))):
                threading.Thread(target=work, args=ends, daemon=True).start()


main()
