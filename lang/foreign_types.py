"""Types as C, Rust and P4 call them, and how LPN writes the same."""
from __future__ import annotations

import re

UNSIGNED = re.compile(r"(?:__)?(?:u|uint)(8|16|32|64|128)(?:_t)?|(?:__)?be(16|32|64)")         # the last ones: Linux' types
SIGNED = re.compile(r"(?:__)?(?:s|i|int)(8|16|32|64|128)(?:_t)?")
LITTLE = re.compile(r"(?:__)?le(16|32|64)")
WORDS = {"char": "bit<8>", "byte": "bit<8>", "short": "int<16>", "unsigned": "bit<32>", "uint": "bit<32>", "long": "int<32>", "size_t": "bit<16>",
         "boolean": "bool", "_Bool": "bool", "counter": "counter<bit<32>>", "register": "register<bit<32>>"}
UNTYPED = ("var", "let", "auto")


def written_here(name: str) -> str:
    """What to do where a type is called so; "" where nobody's language has it."""
    if name in UNTYPED:
        return "a variable begins with its type: bit<8> n = ...;"
    if name in ("float", "double"):
        return "numbers are whole: bit<N>, or int<N> with a sign; scale them"
    if name == "goto":
        return "states of a parser go on with transition"
    for pattern, ours in ((UNSIGNED, "bit"), (SIGNED, "int"), (LITTLE, "le")):
        if found := pattern.fullmatch(name):
            return f"write {ours}<{found[found.lastindex]}>"
    return f"write {WORDS[name]}" if name in WORDS else ""
