"""What keeps half of a pointer on the stack is made otherwise (compiler/half_pointers.py)."""
from __future__ import annotations

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.forms import MOST
from lpn.compiler.half_pointers import half_pointers, hidden_ends
from lpn.compiler.judge import sealed_form
from programs import example

BEGIN = "r2 = *(u64 *)(r1 + 8)\nr3 = *(u32 *)(r1 + 16)\n"
CASES = {
    "half of what was loaded whole": ("*(u32 *)(r10 - 4) = r2", True),
    "of a copy": ("r4 = r2\n*(u32 *)(r10 - 4) = r4", True),
    "a number": ("*(u32 *)(r10 - 4) = r3", False),
    "the whole of it": ("*(u64 *)(r10 - 8) = r2", False),
    "a difference": ("w2 -= w3\n*(u32 *)(r10 - 4) = r2", False),
    "elsewhere": ("*(u32 *)(r1 + 16) = r2", False),
    "on one of two ways": ("if w3 == 1 goto A\nw2 = 4\nA: *(u32 *)(r10 - 4) = r2", True),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept(name: str) -> None:
    code, halved = CASES[name]
    assert half_pointers(assemble(f"{BEGIN}{code}\nr0 = 0\nexit")) == halved


@pytest.mark.parametrize("name", ["%lpn..227.end.number", '%"lpn.a b.end.number"'])
def test_an_end_is_hidden(name: str) -> None:
    hidden = name.replace("number", "hidden")
    assert hidden_ends(f"  {name} = ptrtoint ptr %.20 to i64, !dbg !6\n") == (
        f'  {hidden} = call ptr asm "", "=r,0"(ptr %.20), !dbg !6\n  {name} = ptrtoint ptr {hidden} to i64, !dbg !6\n')
    start = f"  {name} = ptrtoint ptr %.20 to i64\n".replace("end", "start")
    assert hidden_ends(start) == start


@pytest.mark.parametrize("name", ["coap_sensor/coap_sensor", "registration/registration"])
def test_chains_stay_one_container(name: str) -> None:
    """Loops over options, behind which the length of what is left is kept."""
    made = sealed_form(example(name), fuse=True, level=MOST)
    assert not made.refused() and not any(True for _ in made.compiled.forms.notes())
