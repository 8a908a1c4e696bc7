#!/usr/bin/python3
"""An MQTT server that means harm: `hostile-server.py KIND SECONDS`.

It says its port. To the first who connects it does what KIND says, and then says `done`. Whoever comes later finds a server that does what it
should: it says `heard TOPIC` for each message. `hostile-server.py --kinds` lists the kinds.
"""

import os
import random
import select
import socket
import struct
import sys
import time

DEVICE = "kiosk-17"
DESIRED = f"jostle/1/{DEVICE}/desired"
REQUEST = f"jostle/1/{DEVICE}/request/explain"
CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = 1, 2, 3, 4, 5, 6, 7
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH = 8, 9, 10, 11, 12, 13, 14, 15


class Gone(Exception):
    """The other side has left."""


def length(number):
    out = b""
    while True:
        number, byte = number >> 7, number & 127
        out += bytes([byte | (128 if number else 0)])
        if not number:
            return out


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack(">H", len(value)) + value


def packet(kind, body=b"", flags=0):
    return bytes([kind << 4 | flags]) + length(len(body)) + body


def connack(properties=b"", reason=0, flags=0):
    return packet(CONNACK, bytes([flags, reason]) + length(len(properties)) + properties)


def publish(topic, payload, quality=0, number=1, properties=b"", retained=False):
    body = text(topic) + (struct.pack(">H", number) if quality else b"") + length(len(properties)) + properties + payload
    return packet(PUBLISH, body, quality << 1 | retained)


class Line:
    """A connection."""

    def __init__(self, connection):
        self.socket, self.bytes = connection, b""
        self.topics, self.sent = [], 0

    def send(self, data):
        """Sends all of it, and forgets what comes meanwhile only if nobody reads it later."""
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self.socket], [self.socket], [], 20)
            if not readable and not writable:
                raise Gone("it takes nothing")
            try:
                if readable and len(self.bytes) < 1 << 20:
                    self.receive()
                if writable:
                    count = self.socket.send(view[:65536])
                    self.sent += count
                    view = view[count:]
            except OSError as error:
                raise Gone(str(error)) from None

    def send_deaf(self, data):
        """Sends without ever reading."""
        view = memoryview(data)
        try:
            while view:
                count = self.socket.send(view)
                self.sent += count
                view = view[count:]
        except OSError as error:
            raise Gone(str(error)) from None

    def receive(self):
        try:
            data = self.socket.recv(65536)
        except OSError as error:
            raise Gone(str(error)) from None
        if not data:
            raise Gone("it left")
        self.bytes += data

    def packets(self, patience):
        """What comes, as (kind, flags, body), until so many seconds are over."""
        end = time.monotonic() + patience
        while True:
            while len(self.bytes) >= 2:
                size, shift, index = 0, 0, 1
                while index < len(self.bytes):
                    size |= (self.bytes[index] & 127) << shift
                    shift, index = shift + 7, index + 1
                    if not self.bytes[index - 1] & 128:
                        break
                else:
                    break
                if len(self.bytes) < index + size:
                    break
                first, body = self.bytes[0], self.bytes[index:index + size]
                self.bytes = self.bytes[index + size:]
                yield first >> 4, first & 15, body
            rest = end - time.monotonic()
            if rest <= 0:
                return
            if select.select([self.socket], [], [], rest)[0]:
                self.receive()

    def welcome(self, properties=b"", patience=20):
        """Takes the client as a server should, and hears what it subscribes to."""
        for kind, _, _ in self.packets(patience):
            if kind == CONNECT:
                self.send(connack(properties))
                return
        raise Gone("it said nothing")

    def serve(self, patience, reason=0, says=False):
        """Does what a server should, for so long."""
        for kind, flags, body in self.packets(patience):
            if kind == CONNECT:
                self.send(connack())
            elif kind == SUBSCRIBE:
                self.send(packet(SUBACK, body[:2] + b"\0" + bytes([1])))
            elif kind == PUBLISH:
                size = struct.unpack(">H", body[:2])[0]
                topic = body[2:2 + size].decode(errors="replace")
                if flags & 6:
                    self.send(packet(PUBACK, body[2 + size:4 + size] + (bytes([reason, 0]) if reason else b"")))
                if says:
                    print("heard", topic, flush=True)
            elif kind == PINGREQ:
                self.send(packet(PINGRESP))


def garbage(line, end, chance):
    while time.monotonic() < end:
        line.send(chance.randbytes(4096))


def endless(line, end, chance):
    """One message as large as MQTT can say."""
    line.welcome()
    line.send(bytes([PUBLISH << 4]) + length(268435455) + text(DESIRED) + b"\0")
    while time.monotonic() < end:
        line.send(b"x" * 65536)


def endless_properties(line, end, chance):
    line.welcome()
    line.send(bytes([PUBLISH << 4]) + length(200_000_000) + text(DESIRED) + length(199_000_000))
    while time.monotonic() < end:
        line.send((b"\x26" + text("k" * 1000) + text("v" * 1000)) * 32)


def long_length(line, end, chance):
    line.welcome()
    line.send(b"\x30\xff\xff\xff\xff\xff\xff" + b"x" * 100)
    line.serve(1)


def hoard(line, end, chance):
    """Messages that it never completes."""
    line.welcome()
    number = 0
    while time.monotonic() < end:
        burst = b""
        for _ in range(64):
            number = number % 10 + 1
            burst += publish(DESIRED, b"{}" * 4000, quality=2, number=number)
        line.send(burst)


def deaf(line, end, chance):
    """It wants answers, and reads none."""
    line.welcome()
    burst = b"".join(publish("x", b"", quality=1, number=number) for number in range(1, 20_000))
    line.socket.settimeout(max(1, end - time.monotonic()))
    while time.monotonic() < end:
        line.send_deaf(burst)


def flood(line, end, chance):
    line.welcome()
    line.serve(0.2)
    payloads = [b"", b"{", b"[" * 5000, b"{}", b"null", b"1e999", b'{"version":' + b"9" * 400 + b"}",
                b'{"version":1,"policy":{"../../x.conf":""}}', b'{"version":1,"pause":true}', b"\xff\xfe\0"]
    topics = [DESIRED, REQUEST, f"jostle/1/{DEVICE}/position", f"jostle/1/{DEVICE}/ack/archive", f"jostle/1/{DEVICE}/pause",
              "jostle/1/@north/desired", "homeassistant/status", "x" * 65535, f"jostle/1/{DEVICE}/request/" + "x" * 60000]
    number = 0
    while time.monotonic() < end:
        burst = b""
        for _ in range(64):
            number = number % 65535 + 1
            quality = chance.choice([0, 1])
            burst += publish(chance.choice(topics), chance.choice(payloads), quality, number, retained=chance.random() < 0.3)
        line.send(burst)


def huge_retained(line, end, chance):
    line.welcome()
    line.serve(0.2)
    file = b'"50-x.conf":"' + b"[Rule x]\\n" * 20_000 + b'"'
    number = 0
    while time.monotonic() < end:
        number += 1
        line.send(publish(DESIRED, b'{"version":%d,"policy":{%s}}' % (number, file), 1, number, retained=True))
        line.send(publish(DESIRED, b'{"version":%d,"policy":{%s}}' % (number, b"," * 900_000), 1, number + 1, retained=True))
        line.serve(0)


def too_large(line, end, chance):
    """More than the client said that it takes."""
    line.welcome()
    line.serve(0.2)
    line.send(publish(DESIRED, b"x" * 2_000_000, retained=True))
    line.serve(1)


def nested(line, end, chance):
    """Values that are deep, or say that they are long."""
    line.welcome()
    line.serve(0.2)
    cbor = b"\x03" + text("application/cbor")
    deep = [b"\x81" * 200_000, b"\x9f" * 200_000, b"\xa1\x61a" * 60_000, b"\x9b" + b"\xff" * 8, b"\x5b" + b"\xff" * 8,
            b"\xbb\x7f" + b"\xff" * 7, b"\x7f" * 100_000, b"\xd8\x1c" * 50_000]
    for payload in deep:
        line.send(publish(DESIRED, payload, properties=cbor))
        line.send(publish(REQUEST, payload, properties=cbor + b"\x08" + text("jostle/1/@/answer/x") + b"\x09" + text(b"1")))
    for payload in [b"[" * 200_000, b'{"a":' * 100_000, b'"' + b"\\ud800" * 30_000 + b'"', b"[" + b"0," * 100_000 + b"0]"]:
        line.send(publish(DESIRED, payload))
    line.serve(1)


def questions(line, end, chance):
    line.welcome()
    line.serve(0.2)
    number = 0
    while time.monotonic() < end:
        burst = b""
        for _ in range(200):
            number += 1
            answer = chance.choice(["jostle/1/@/answer/x", DESIRED, "#", "", "jostle/1/@/answer/../../x"])
            burst += publish(REQUEST, b'{"app":"--help"}', 0, 1, b"\x08" + text(answer) + b"\x09" + text(os.urandom(chance.choice([0, 8, 300, 60_000]))))
        line.send(burst)
        line.serve(0)


def strangers(line, end, chance):
    """Packets that no server sends, and answers to what nobody asked."""
    line.welcome()
    line.serve(0.2)
    for kind in [PUBACK, PUBREC, PUBCOMP, PUBREL, SUBACK, UNSUBACK]:
        for number in [0, 1, 2, 3, 77, 65535]:
            flags = 2 if kind == PUBREL else 0
            line.send(packet(kind, struct.pack(">H", number) + bytes([chance.choice([0, 16, 128, 151, 255]), 0]), flags))
            line.send(packet(kind, struct.pack(">H", number), flags))
    line.serve(1)


def shifting(line, end, chance):
    """One kind of packet after another, any flags, any body."""
    line.welcome()
    for kind in range(16):
        for _ in range(20):
            line.send(packet(kind, chance.randbytes(chance.choice([0, 1, 2, 5, 40])), chance.randrange(16)))


def mutated(line, end, chance):
    """What is right, but for a few bytes."""
    line.welcome()
    line.serve(0.2)
    json, cbor = b"\x03" + text("application/json"), b"\x03" + text("application/cbor")
    answer = b"\x08" + text("jostle/1/@/answer/x") + b"\x09" + text(b"12")
    right = [(DESIRED, b'{"version":1,"policy":{"50-x.conf":"[Rule a]\\nThen=deny\\n"}}', json),
             (DESIRED, b'{"version":2,"pause":true,"detectors":{"knock":{"threshold":"2.5g"}}}', json),
             (DESIRED, b"\xa2gversion\x03epause\xf5", cbor), (REQUEST, b'{"app":"org.example.App","sequence":3}', json + answer),
             (f"jostle/1/{DEVICE}/ack/archive", b'{"app":"org.jostle.Bridge","epoch":17,"sequence":4}', json),
             (f"jostle/1/{DEVICE}/position", b'{"stream":"a","events":9,"events_ahead":[[11,12]],"verdicts":1,"verdicts_ahead":[]}', json)]
    number = 0
    while time.monotonic() < end:
        burst = b""
        for _ in range(32):
            topic, payload, properties = chance.choice(right)
            payload = bytearray(payload)
            for _ in range(chance.randrange(5)):
                payload[chance.randrange(len(payload))] = chance.randrange(256)
            number = number % 65535 + 1
            burst += publish(topic, bytes(payload[:chance.choice([len(payload), chance.randrange(len(payload))])]), 1, number, properties)
        line.send(burst)
        line.serve(0)


def topics(line, end, chance):
    line.welcome()
    line.serve(0.2)
    for topic in [b"", b"#", b"+/+", b"a\0b", b"\xff\xfe", b"\xed\xa0\x80", b"$SYS/x", b"/" * 65535, DESIRED.encode() + b"/"]:
        line.send(publish(topic, b"{}"))
    line.send(publish("", b"{}", 0, 1, b"\x23\0\7"))
    line.send(packet(PUBLISH, text(DESIRED) + b"\0\1\0{}", 6))
    line.serve(1)


def twice(line, end, chance):
    line.welcome()
    line.send(connack() * 3)
    line.serve(1)


def unasked(line, end, chance):
    """Everything before it takes the client, and it never does."""
    for _, _, _ in line.packets(1):
        break
    line.send(publish(DESIRED, b'{"version":1,"pause":true}', 1, 1) + packet(SUBACK, b"\0\1\0\1") + packet(PUBACK, b"\0\1"))
    line.serve(1)


def refusals(line, end, chance):
    """It takes the client, and none of its messages."""
    line.welcome()
    line.serve(max(1, end - time.monotonic()), reason=151)


def forgetful(line, end, chance):
    line.welcome()
    for _ in line.packets(max(1, end - time.monotonic())):
        pass


def nothing_on_the_way(line, end, chance):
    line.welcome(b"\x21\0\0")
    line.serve(1)


def no_quality(line, end, chance):
    line.welcome(b"\x24\0")
    line.serve(1)


def small_packets(line, end, chance):
    line.welcome(b"\x27\0\0\0\x0a")
    line.serve(1)


def odd_properties(line, end, chance):
    line.welcome(b"\x13\0\1" + b"\x12" + text("other") + b"\x22\xff\xff" + b"\x11\0\0\0\0" + b"\x26" + text("k") * 2)
    line.serve(1)


def wrong_properties(line, end, chance):
    line.welcome(b"\xee" * 40)
    line.serve(1)


def data_of(port):
    """How many bytes the program has whose end of a connection is at this port."""
    with open("/proc/net/tcp") as table:
        rows = [row.split() for row in table]
    inode = next(row[9] for row in rows if row[1].endswith(f":{port:04X}"))
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            files = f"/proc/{process}/fd"
            if any(os.readlink(f"{files}/{file}") == f"socket:[{inode}]" for file in os.listdir(files)):
                with open(f"/proc/{process}/status") as status:
                    return next(int(row.split()[1]) << 10 for row in status if row.startswith("VmData:"))
        except OSError:
            continue
    raise Gone("nobody has the other end")


def brim(line, end, chance):
    """Something to read, and behind it the head of a packet that takes nearly all that the bridge may have."""
    line.welcome()
    line.serve(0.5)
    files = ", ".join(f'"{number}.conf": "{"[Rule x]" * 2000}"' for number in range(9))
    size = (192 << 20) - data_of(line.socket.getpeername()[1]) - 300_000
    head = bytes([PUBLISH << 4]) + length(size) + text(DESIRED) + b"\0" + b"x" * 64
    line.send(publish(DESIRED, f'{{"version": 1, "policy": {{{files}}}}}'.encode()) + head)
    line.serve(1)


def shy(line, end, chance):
    """It lets the client hear nothing for now, and all that it asks for again."""
    line.welcome()
    refused, granted = set(), set()
    for kind, flags, body in line.packets(60):
        if kind == SUBSCRIBE:
            # Behind its number and no properties.
            topic = body[5:5 + struct.unpack(">H", body[3:5])[0]]
            reason = 1 if topic in refused else 151
            (granted if topic in refused else refused).add(topic)
            line.send(packet(SUBACK, body[:2] + b"\0" + bytes([reason])))
            if granted == refused:
                return
        elif kind == PUBLISH and flags >> 1 & 3:
            start = 2 + struct.unpack(">H", body[:2])[0]
            line.send(packet(PUBACK, body[start:start + 2]))
    raise Gone("it asked for nothing again")


def refused(line, end, chance):
    for kind, _, _ in line.packets(20):
        if kind == CONNECT:
            line.send(connack(b"\x1f" + text("\x1b[31mgo away" * 1000), reason=0x87))
            return


def marks(line, end, chance):
    """Texts of marks that are not in their order: comparing one takes seconds."""
    line.welcome()
    line.serve(0.2)
    row = ("\u0301\u0327" * 15_000).encode()
    base = f"jostle/1/{DEVICE}/".encode()
    answer = b"\x08" + text("jostle/1/@/answer/x")
    for message in [
        publish(base + b"request/e" + row, b"{}"), publish(base + b"ack/e" + row, b"{}"),
        publish(base + b"pause", row), publish("homeassistant/status", row),
        publish(REQUEST, b"{}", properties=b"\x03" + text(row) + answer),
        publish(REQUEST, b"{}", properties=b"\x08" + text(base + row)),
        publish(REQUEST, b"{}", properties=b"\x26" + text(row) + text(row) + answer),
    ]:
        line.send(message * 8)
        # The library takes what comes at once with it before anybody reads that.
        line.serve(0.2)
        line.send(publish(DESIRED, b"{", 1, 7))
        if not any(kind == PUBACK for kind, _, _ in line.packets(2)):
            raise Gone("it does not answer")


KINDS = [garbage, endless, endless_properties, long_length, hoard, deaf, flood, huge_retained, too_large, nested, questions, strangers,
         shifting, mutated, topics, twice, unasked, refusals, forgetful, nothing_on_the_way, no_quality, small_packets,
         odd_properties, wrong_properties, shy, refused, brim, marks]


def main():
    if sys.argv[1:] == ["--kinds"]:
        print("\n".join(kind.__name__ for kind in KINDS))
        return
    kind = next(kind for kind in KINDS if kind.__name__ == sys.argv[1])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    line = Line(connection)
    why = "it stayed"
    try:
        kind(line, time.monotonic() + float(sys.argv[2]), random.Random(17))
    except Gone as gone:
        why = str(gone)
    print(f"done: {why}, {line.sent} bytes", flush=True)
    connection.close()
    while True:
        connection, _ = listener.accept()
        try:
            Line(connection).serve(3600, says=True)
        except Gone:
            pass
        connection.close()


main()
