"""Messages as they come from the editor: header lines, an empty line, and as many octets as one of the lines says (Language Server Protocol, base protocol)."""
from __future__ import annotations

from typing import BinaryIO

MOST = 64 << 20                                 # octets of a message: a text document, and a great deal of room
MOST_LINE = 1 << 12                             # of a header line
SHOWN = 60                                      # of one that is wrong


class MessageError(Exception):
    """What comes is no message, and nobody knows where the next one begins; one line."""


class Messages:
    """What pygls reads from: header lines it can read, and lengths that can be. It takes no other spelling of Content-Length, waits for ever where there is none, and makes
    room for any number."""

    def __init__(self, stream: BinaryIO):
        self.stream = stream
        self.length: int | None = None          # of the message whose header is being read
        self.begun = False                      # a line of it was there

    def readline(self) -> bytes:
        line = self.stream.readline(MOST_LINE)
        if not line:
            if self.begun:
                raise MessageError("the input ends inside a message's header")
            return line
        if not line.endswith(b"\n"):
            raise MessageError(f"a header line of a message has more than {MOST_LINE} octets: {shown(line)}" if len(line) == MOST_LINE
                               else "the input ends inside a message's header")
        if not line.strip():
            if self.begun and self.length is None:
                raise MessageError("a message's header has no Content-Length")
            self.begun = False
            return b"\r\n"
        self.begun = True
        name, colon, value = (part.strip() for part in line.partition(b":"))
        if not colon:
            raise MessageError(f"a header line of a message has no ':': {shown(line)}")
        if name.lower() != b"content-length":
            return line
        if self.length is not None:
            raise MessageError("a message's header has two Content-Lengths")
        self.length = length_of(value)
        return b"Content-Length: %d\r\n" % self.length

    def read(self, octets: int) -> bytes:
        self.length = None
        body = self.stream.read(octets)
        if len(body) < octets:
            raise MessageError(f"the input ends inside a message: {len(body)} of {octets} octets")
        return body


def length_of(value: bytes) -> int:
    if not value.isdigit() or not value.strip(b"0"):
        raise MessageError(f"the Content-Length of a message is no number of octets: {shown(value)}")
    digits = value.lstrip(b"0")
    if len(digits) > len(str(MOST)) or int(digits) > MOST:
        raise MessageError(f"a message is too long: its Content-Length is {shown(digits)}, and at most {MOST} octets are taken")
    return int(digits)


def shown(line: bytes) -> str:
    text = line.strip().decode("ascii", "backslashreplace")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
