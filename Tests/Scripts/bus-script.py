#!/usr/bin/python3
"""Says on a bus what a test wants said, and prints what comes back: bus-script.py ADDRESS STEP...

Each step is one argument. PEER is a connection with a name of the test's choosing, made when a step first names it.

    PEER call DESTINATION PATH INTERFACE MEMBER [SIGNATURE BODY]    prints "PEER ok BODY" or "PEER error NAME: MESSAGE"
    PEER begin DESTINATION PATH INTERFACE MEMBER [SIGNATURE BODY]   calls, and does not wait for the answer, which is printed when it comes
    PEER burst PATH RATE...    claims the sensor at each rate, or releases it for 0, without waiting for an answer in between
    PEER send DESTINATION PATH INTERFACE MEMBER [SIGNATURE BODY]    sends a signal; returns when the bus has passed it on
    PEER own NAME       owns a name
    PEER name           prints "PEER name UNIQUE"
    PEER hear [MEMBER]  prints "PEER heard SENDER MEMBER BODY" for each signal (of that name) that is sent to it from now on
    PEER await N        returns when N more of them have arrived
    PEER answer N       answers each ping with N descriptors that nobody asked for
    PEER drop [N]       closes the descriptor that came with the last answer, or the one at that place of those it holds
    PEER packets N      reads N packets from its last descriptor, and prints "PEER packet KIND COUNT SEQUENCE VALUES" for each
    PEER ask [HEX]      sends a packet into its last descriptor
    PEER shut           shuts the writing side of its last descriptor down
    PEER ended          returns when its last descriptor is at its end of file, and prints "PEER ended"
    PEER child          starts a process that holds a copy of it for as long as this one lives, and prints "PEER child PID"
    PEER wait SECONDS   does nothing for so long
    PEER leave          leaves the bus
    say TEXT            prints the text
    stay                prints "staying" and goes on until the bus goes

PATH may be "self": the object of an app without a name, which the peer is. BODY is a Python list, in which V(signature, value) is a variant, nan and inf are what they are, and heard is the body of the
last signal that the peer heard. Bodies are printed as JSON. "-" as an interface is none.
"""

import sys

# They take a third of the time until the first step: dbus_fast has GLib looked for, asyncio TLS, and nobody here needs either.
sys.modules |= dict.fromkeys(["gi", "ssl"])

import asyncio
import json
import math
import os
import socket
import struct
import subprocess

from dbus_fast import Message, MessageFlag, MessageType, RequestNameReply, Variant
from dbus_fast.aio import MessageBus

READER = "org.jostle.Sensors1"
children = []  # their standard input ends with us, and they with it
NAMES = {"V": Variant, "nan": math.nan, "inf": math.inf}


def printed(body):
    return json.dumps(body, default=lambda variant: variant.value)


def message(words, kind, heard):
    destination, path, interface, member = words[:4]
    signature, body = (words[4], eval(words[5], NAMES | {"heard": heard})) if len(words) > 4 else ("", [])
    flags = MessageFlag.NONE if kind is MessageType.METHOD_CALL else MessageFlag.NO_AUTOSTART
    return Message(destination, path, None if interface == "-" else interface, member, message_type=kind, flags=flags,
                   signature=signature, body=body)


class Peer:
    """One connection. All that arrives is printed from one handler, so that it is printed in the order of its arrival."""

    def __init__(self, name, bus):
        self.name, self.bus = name, bus
        self.calls, self.heard, self.wanted, self.last, self.held = set(), None, [], None, []
        self.open, self.gifts = [], []
        bus.add_message_handler(self.arrived)

    def arrived(self, message):
        if self.gifts and message.member == "Ping" and message.message_type is MessageType.METHOD_CALL:
            return Message.new_method_return(message, "h", [0], unix_fds=self.gifts)
        if message.reply_serial in self.calls:
            if message.message_type is MessageType.ERROR:
                print(self.name, "error", f"{message.error_name}:", *message.body, flush=True)
            else:
                self.held += message.unix_fds
                print(self.name, "ok", printed(message.body), flush=True)
        elif (self.heard is not None and message.message_type is MessageType.SIGNAL
              and message.sender != "org.freedesktop.DBus" and (not self.wanted or message.member in self.wanted)):
            print(self.name, "heard", message.sender, message.member, printed(message.body), flush=True)
            self.last = message.body
            self.heard.release()

    def object(self):
        return "/org/jostle/Broker1/apps/" + "".join(
            letter if letter.isalnum() else f"_{ord(letter):02x}" for letter in self.bus.unique_name)

    async def perform(self, verb, words):
        if verb in ("call", "begin"):
            words = [self.object() if word == "self" else word for word in words[:2]] + words[2:]
            call = message(words, MessageType.METHOD_CALL, self.last)
            call.serial = self.bus.next_serial()
            self.calls.add(call.serial)
            answer = asyncio.ensure_future(self.bus.call(call))
            if verb == "call":
                await answer
            else:
                self.open.append(answer)
                # So that it is under way before what comes next.
                await asyncio.sleep(0)
        elif verb == "burst":
            calls = []
            for rate in map(float, " ".join(words).split()[1:]):
                call = message([READER, words[0], f"{READER}.Sensor", "Claim", "a{sv}", f"[{{'rate':V('d',{rate})}}]"]
                               if rate else [READER, words[0], f"{READER}.Sensor", "Release", "a{sv}", "[{}]"],
                               MessageType.METHOD_CALL, self.last)
                call.serial = self.bus.next_serial()
                self.calls.add(call.serial)
                calls.append(self.bus.call(call))
            await asyncio.gather(*calls)
        elif verb == "send":
            await self.bus.send(message(words, MessageType.SIGNAL, self.last))
            # The bus works in order: with this answer, the signal has been delivered.
            await self.bus.call(Message("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId"))
        elif verb == "own":
            assert await self.bus.request_name(words[0]) is RequestNameReply.PRIMARY_OWNER
        elif verb == "name":
            print(self.name, "name", self.bus.unique_name, flush=True)
        elif verb == "hear":
            self.heard, self.wanted = asyncio.Semaphore(0), words
        elif verb == "await":
            for _ in range(int(words[0])):
                await self.heard.acquire()
        elif verb == "answer":
            self.gifts = [os.open(os.devnull, os.O_RDONLY)] * int(words[0])
        elif verb == "drop":
            os.close(self.held.pop(int(words[0]) if words else -1))
        elif verb == "packets":
            stream = socket.socket(fileno=os.dup(self.held[-1]))
            stream.setblocking(False)
            for _ in range(int(words[0])):
                packet = await asyncio.get_running_loop().sock_recv(stream, 1 << 20)
                if not packet:
                    print(self.name, "end", flush=True)
                    break
                assert len(packet) <= 65536
                kind, count, sequence = struct.unpack_from("=IIQ", packet)
                rest = packet[16:]
                columns = len(rest) // 8 // count if rest else 0
                rows = [list(row) for row in struct.Struct(f"=Q{columns - 1}d").iter_unpack(rest)] if rest else []
                print(self.name, "packet", kind, count, sequence, printed(rows), flush=True)
        elif verb == "ask":
            os.write(self.held[-1], bytes.fromhex(words[0] if words else "01"))
        elif verb == "shut":
            stream = socket.socket(fileno=os.dup(self.held[-1]))
            stream.shutdown(socket.SHUT_WR)
            stream.close()
        elif verb == "ended":
            readable = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.add_reader(self.held[-1], readable.set)
            await readable.wait()
            loop.remove_reader(self.held[-1])
            assert os.read(self.held[-1], 1) == b""
            print(self.name, "ended", flush=True)
        elif verb == "child":
            child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[self.held[-1]])
            children.append(child)
            print(self.name, "child", child.pid, flush=True)
        elif verb == "wait":
            await asyncio.sleep(float(words[0]))
        elif verb == "leave":
            self.bus.disconnect()
            await self.bus.wait_for_disconnect()
        else:
            sys.exit(f"bus-script: what is '{verb}'?")


async def main():
    peers = {}
    for step in sys.argv[2:]:
        if step == "stay":
            print("staying", flush=True)
            await asyncio.gather(*[peer.bus.wait_for_disconnect() for peer in peers.values()])
            continue
        name, verb, *words = step.split(" ", 7)
        if name == "say":
            print(verb, *words, flush=True)
            continue
        if name not in peers:
            peers[name] = Peer(name, await MessageBus(bus_address=sys.argv[1], negotiate_unix_fd=True).connect())
        await peers[name].perform(verb, words)


asyncio.run(main())
