"""Numbers of cells of an array, which LLVM's optimiser must not look into.

An index is compared with the end of its array, and where it is beyond, cell 0 is taken: a verifier sees that the address has a bound. LLVM
would drop that choice where the cell is not used. Hidden in assembly it would be made anew each time that the cell is named. So the
number is a call of `lpn.cell(index)`, a function without effects that nobody defines: two of one index are one to LLVM, as long as
nothing changes it, and so are address and test. When the optimiser has run, the call becomes the assembly that hides the choice.
"""
from __future__ import annotations

import re

CELL = "lpn.cell"

_CALL = re.compile(r"^  (%\S+) = (?:tail |notail |musttail )?call i32 @lpn\.cell\(i32 (?:\w+ )*?(\S+)\)(?: #\d+)?(.*)$", re.M)
_DECLARED = re.compile(r"^declare i32 @lpn\.cell\(.*$\n?", re.M)


def hidden(text: str, half_register: str) -> str:
    """The module's text with each call as the number itself, of which LLVM knows nothing."""
    return _DECLARED.sub("", _CALL.sub(lambda m: f'  {m[1]} = call i32 asm sideeffect "", "{half_register}"(i32 {m[2]}){m[3]}', text))
