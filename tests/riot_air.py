"""A radio of our own among emulated nodes (ZEP, version 2): sends any frame, hears what its links carry, and speaks as much IPv6
over 802.15.4 as a CoAP client needs."""
from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass

PAN = 0x0023
CHANNEL = 26
HEADER = struct.Struct(">2sBBBHBBIII10sB")       # preamble, version, type, channel, device, LQI mode, LQI, time, sequence, -, length
DATA, HELLO = 1, 255
COAP = 5683
GET, PUT, DELETE = 1, 3, 4
BLOCK = 32                                      # octets of a block: with IPv6 as it is, a frame has room for no more


def fcs(frame: bytes) -> bytes:
    """CRC-16 of ITU-T, as in IEEE 802.15.4, 7.2.11."""
    crc = 0
    for octet in frame:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x8408 if crc & 1 else 0)
    return crc.to_bytes(2, "little")


def checksum(data: bytes) -> int:
    """Of RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ext(number: int) -> bytes:
    """The EUI-64 of node `number`, in the order it is written."""
    return bytes.fromhex("024c504e000000") + bytes([number])


def link_local(number: int) -> bytes:
    eui = ext(number)
    return bytes.fromhex("fe80000000000000") + bytes([eui[0] ^ 2]) + eui[1:]


@dataclass(frozen=True)
class Answer:
    """What a CoAP server said: its code as in 2.04, and the payload."""

    code: str
    text: str


class Sniffer:
    """Hears all frames of a network. The dispatcher takes who says hello without an address for one; there is one."""

    def __init__(self, port: int) -> None:
        self.socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.connect(("::1", port))
        self.socket.setblocking(False)
        self.socket.send(HEADER.pack(b"EX", 2, HELLO, 0, 0, 0, 0, 0, 0, 0, b"HELLO" + bytes(5), 0))

    def frames(self) -> list[bytes]:
        """Those that came since the last call, without FCS, in their order."""
        found = []
        while True:
            try:
                raw = self.socket.recv(2048)
            except BlockingIOError:
                return found
            if len(raw) > HEADER.size + 2 and raw[:2] == b"EX" and raw[3] == DATA:
                found.append(raw[HEADER.size:-2])

    def close(self) -> None:
        self.socket.close()


class Air:
    """A peer called node `number`, with a link to those that the topology says."""

    def __init__(self, port: int, number: int) -> None:
        self.number = number
        self.socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.socket.connect(("::1", port))
        self.sequence = self.message = self.mac_sequence = 0
        self.frames: list[tuple[float, bytes]] = []         #: heard, without FCS
        hello = HEADER.pack(b"EX", 2, HELLO, 0, 0, 0, 0, 0, 0, 0, b"HELLO" + bytes(5), 8)
        self.socket.send(hello + ext(number))

    def close(self) -> None:
        self.socket.close()

    def send(self, frame: bytes) -> None:
        """A MAC frame without FCS, whatever it is."""
        self.sequence += 1
        whole = frame + fcs(frame)
        self.socket.send(HEADER.pack(b"EX", 2, DATA, CHANNEL, 1, 1, 0xff, int(time.time()), 0, self.sequence, bytes(10), len(whole)) + whole)

    def hear(self, seconds: float) -> bytes | None:
        """The next frame, if one comes in that time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                raw = self.socket.recv(2048)
            except TimeoutError:
                return None
            if len(raw) > HEADER.size + 2 and raw[:2] == b"EX" and raw[3] == DATA:
                frame = raw[HEADER.size:-2]
                self.frames.append((time.time(), frame))
                return frame
        return None

    def listen(self, seconds: float) -> list[bytes]:
        """All frames of that time."""
        end, found = time.monotonic() + seconds, []
        while (left := end - time.monotonic()) > 0:
            frame = self.hear(left)
            if frame is not None:
                found.append(frame)
        return found

    # ------------------------------------------------------------ IPv6, UDP, CoAP

    def mac(self, to: int) -> bytes:
        """A data frame's header, with extended addresses."""
        self.mac_sequence = self.mac_sequence + 1 & 0xff
        return struct.pack("<HBH", 0xcc41, self.mac_sequence, PAN) + ext(to)[::-1] + ext(self.number)[::-1]

    def udp(self, to: int, source: int, port: int, payload: bytes, damage: int = 0) -> bytes:
        """A datagram in a frame, nothing compressed. `damage`: added to the checksum."""
        size = 8 + len(payload)
        head = link_local(self.number) + link_local(to)
        datagram = struct.pack(">HHHH", source, port, size, 0) + payload
        sum_ = checksum(head + struct.pack(">II", size, 17) + datagram) or 0xffff
        datagram = datagram[:6] + struct.pack(">H", sum_ + damage & 0xffff) + datagram[8:]
        return self.mac(to) + b"\x41" + struct.pack(">IHBB", 6 << 28, size, 17, 64) + head + datagram

    def ask(self, to: int, method: int, path: str, payload: bytes = b"", block: tuple[int, bool] | None = None,
            tries: int = 8) -> Answer:
        """A confirmable request, sent again until it is answered. `block`: its number, and whether more follow."""
        self.message = self.message + 1 & 0xffff
        number = token = struct.pack(">H", self.message)
        options, last = b"", 0
        for part in path.strip("/").split("/"):
            options += bytes([(11 - last) << 4 | len(part)]) + part.encode()
            last = 11
        if block is not None:
            value = block[0] << 4 | int(block[1]) << 3 | (BLOCK.bit_length() - 5)
            raw = value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")
            options += bytes([13 << 4 | len(raw), 27 - last - 13]) + raw
        message = bytes([0x42, method]) + number + token + options + (b"\xff" + payload if payload else b"")
        for _ in range(tries):
            self.send(self.udp(to, 40000 + number[1], COAP, message))
            end = time.monotonic() + 1.0
            while (left := end - time.monotonic()) > 0:
                frame = self.hear(left)
                at = frame.rfind(b"\x62", 0, -5) if frame is not None else -1      # an acknowledgement with two octets of token
                while frame is not None and at > 0 and frame[at + 2:at + 6] != number + token:
                    at = frame.rfind(b"\x62", 0, at)
                if frame is not None and at > 0:
                    return answer(frame[at:])
        raise AssertionError(f"node {to} does not answer {path}")

    def put(self, to: int, path: str, content: bytes) -> Answer:
        """Block by block (RFC 7959); the last answer, or the first that is not 2.31 Continue."""
        blocks = [content[at:at + BLOCK] for at in range(0, len(content), BLOCK)]
        got = Answer("", "")
        for i, piece in enumerate(blocks):
            got = self.ask(to, PUT, path, piece, (i, i + 1 < len(blocks)))
            if got.code != "2.31":
                return got
        return got


def answer(message: bytes) -> Answer:
    """Read a response: its options are of no interest."""
    at = 4 + (message[0] & 15)
    while at < len(message) and message[at] != 0xff:
        delta, size = message[at] >> 4, message[at] & 15
        at += 1 + (1 if delta == 13 else 2 if delta == 14 else 0)
        if size == 13:
            size = 13 + message[at]
            at += 1
        at += size
    return Answer(f"{message[1] >> 5}.{message[1] & 31:02d}", message[at + 1:].decode("utf-8", "replace"))
