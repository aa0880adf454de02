"""Packets for a program's parser: valid ones, nearly valid ones, and anything."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import reject, strategies as st

from lpn.compiler.generate.packets import put
from lpn.compiler.generate.refused import Refusal
from lpn.lang.reference.state import State

from .nothing import Judged
from .numbers import Draw, numbers
from .walk import Drawn, Subject, Walker

MAX_FRAME = 127                                 # octets of an IEEE 802.15.4 PHY payload


def walked(subject: Subject, state: Callable[[], State], meta: Mapping[str, int]) -> st.SearchStrategy[Drawn]:
    """Packets drawn along the parser; nearly all are accepted by it."""
    @st.composite
    def make(draw: Draw) -> Drawn:
        return Walker(draw, subject, state(), meta).packet()

    return make()


@st.composite
def nearly(draw: Draw, good: st.SearchStrategy[Drawn]) -> bytes:
    """One thing wrong: a field, a bit, an octet, the end."""
    drawn = draw(good)
    frame = bytearray(drawn.data)
    how = draw(st.sampled_from(["field", "bit", "octet", "cut", "longer"]))
    if how == "field" and drawn.fields:
        name, at, width = draw(st.sampled_from(drawn.fields))
        put(frame, at, width, draw(numbers(min(width, 128))))
        return bytes(frame)
    return draw(spoiled(bytes(frame), how))


@st.composite
def spoiled(draw: Draw, data: bytes, how: str) -> bytes:
    frame = bytearray(data)
    if how == "cut":
        return data[:draw(st.integers(0, len(data)))]
    if how == "longer" or not frame:
        return data + draw(st.binary(min_size=1, max_size=9))
    at = draw(st.integers(0, len(frame) - 1))
    frame[at] ^= draw(st.integers(1, 255)) if how == "octet" else 1 << draw(st.integers(0, 7))
    return bytes(frame)


@st.composite
def damaged(draw: Draw, frames: st.SearchStrategy[bytes]) -> bytes:
    """A frame with one thing wrong: a bit, an octet, its end."""
    return draw(spoiled(draw(frames), draw(st.sampled_from(["bit", "octet", "cut", "longer"]))))


def anything() -> st.SearchStrategy[bytes]:
    return st.binary(max_size=MAX_FRAME)


def accepted(drawn: Drawn, judged: Judged, judge: Callable[[bytes], Refusal | None]) -> bytes:
    """The packet; the example is given up if the parser does not take it after all. Raises NothingValid where it takes none."""
    if (found := judge(drawn.data)) is not None:
        judged.refuse(found)
        reject()
    judged.taken = True
    return drawn.data
