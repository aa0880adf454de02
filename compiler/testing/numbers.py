"""Numbers, octets, circumstances."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from lpn.compiler.generate.looked_for import Interest
from lpn.lang.builtins import META, NODE
from lpn.lang.types import Bits

Draw = Callable[[st.SearchStrategy], Any]
SMALL = 12                                      # a number of octets, bits, options: mostly at most so many


payloads = st.one_of(st.just(b""), st.binary(max_size=4), st.binary(max_size=40))
following = st.one_of(st.just(0), st.integers(0, 4), st.integers(0, 40))        # octets of what a parser asks the size of

# Strategies are made once: Hypothesis looks into each new one before it draws from it.


@lru_cache(maxsize=None)
def numbers(width: int) -> st.SearchStrategy[int]:
    """Numbers of a width; the ends more often than chance gives them."""
    top = (1 << width) - 1
    return st.one_of(st.integers(0, top), st.sampled_from(sorted({0, 1 & top, top, top ^ (top >> 1)})))


@lru_cache(maxsize=None)
def likely(width: int, wanted: tuple[int, ...], held: tuple[int, ...] = ()) -> st.SearchStrategy[int]:
    """Numbers of a width, many of them those that somebody looks for, some those that registers and table entries hold."""
    fit, held = sorted({number for number in wanted if 0 <= number < 1 << width}), tuple(sorted(set(held)))
    sought = [st.sampled_from(some) for some in (fit, held) if some]
    return st.one_of(*sought * len(sought), numbers(width)) if sought else numbers(width)       # of which there are two kinds


def looked_for(interest: Interest, place: object, width: int) -> st.SearchStrategy[int]:
    """Numbers for a place of this width."""
    if place in interest.sizes:
        return sizes(width)
    return likely(width, tuple(interest.get(place, ())), tuple(interest.held.get(width, ())))


@lru_cache(maxsize=None)
def sizes(width: int) -> st.SearchStrategy[int]:
    """Numbers of a width, nearly all of them small."""
    small = st.integers(0, min(SMALL, (1 << width) - 1))
    return st.one_of(*[small] * 19, numbers(width))


@lru_cache(maxsize=4096)
def one_of(values: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def circumstances() -> st.SearchStrategy[dict[str, int]]:
    """What a program can know beside the packet: `meta` and `node`, each by the engines' names, mostly absent."""
    bits = {name: META[name] for name in ("iface", "rssi", "lqi", "time")} | {
        ("clock" if name == "clock" else f"node_{name}"): type_ for name, type_ in NODE.items()}
    each = {name: numbers(type_.width if isinstance(type_, Bits) else 8) for name, type_ in bits.items()}
    return st.fixed_dictionaries({}, optional=each)
