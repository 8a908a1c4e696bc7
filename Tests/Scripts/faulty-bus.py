#!/usr/bin/python3
"""A socket in the place of a bus, for tests of who waits for what: faulty-bus.py PATH ends|silent|ownerless|confused [BUS]

    ends       takes connections, and ends each
    silent     takes connections, and says nothing
    ownerless  hands on what is said to the bus at the path BUS and by it, but for questions after the owner of a name
    confused   hands on all of it, but makes an error of the first question of a connection after whose a name of org.example is, and
               of the first after who made a connection

Says "listening" when somebody can connect.
"""

import socket
import struct
import sys
import threading


def hand_back(bus, peer):
    while data := bus.recv(65536):
        peer.sendall(data)


FIRST = {b"GetNameOwner": b"org.example.", b"GetConnectionCredentials": b""}


def confused(message, asked):
    """The message, or one that no bus understands."""
    for question, about in FIRST.items():
        if question in message and about in message and question not in asked:
            asked.add(question)
            return message.replace(question, question[:-1] + b"X")
    return message


def hand_on(peer, bus, fault):
    asked = set()
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
        if fault == "confused":
            bus.sendall(confused(message, asked))
        elif b"GetNameOwner" not in message:
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
        if upstream:
            bus = socket.socket(socket.AF_UNIX)
            bus.connect(upstream[0])
            for work, ends in ((hand_on, (peer, bus, fault)), (hand_back, (bus, peer))):
                threading.Thread(target=work, args=ends, daemon=True).start()


main()
