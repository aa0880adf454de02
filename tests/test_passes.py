"""Each pass over the bytecode, some of them in any order, and all of them: a program means what it meant, whatever nearly fits a pass."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.known_bits import decide_by_bits
from lpn.compiler.peephole import PASSES, improve
from lpn.compiler.renamed import rename_copies
from lpn.compiler.rewrite import Line, read, sweep, write
from lpn.compiler.stack_slots import share_stack, with_less_stack
from lpn.compiler.tails import merge_tails
from lpn.runtime.raw import RawResult, run_raw
from pass_programs import Shapes

FIRST, GROUPS, EACH, FUEL = 600, 8, 60, 3000


def share_all(code: list[Line]) -> bool:
    """The stack of a container without variables."""
    share_stack(code, 0)
    return False


ALONE = (*PASSES, decide_by_bits, merge_tails, share_all)


def changed(text: bytes, passes: tuple[Callable[[list[Line]], object], ...]) -> bytes:
    code = read(text, [])
    for one in passes:
        one(code)
        sweep(code)
    return write(code)[0]


def forms(text: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for one in ALONE:
        yield one.__name__, changed(text, (one,))
    some = tuple(rng.sample(ALONE, 5))
    yield " ".join(one.__name__ for one in some), changed(text, some)
    better = improve(text, [])
    yield "all", better[0]
    yield "all, and the stack", with_less_stack(*better, 0)[0]


def inputs(rng: random.Random) -> list[bytes]:
    few = (0, 1, 2, 3, 4, 5, 8), (0, 1, 0x7f, 0x80, 0xff), range(256)
    return [bytes(rng.choices(rng.choice(few), k=24)) for _ in range(4)]


def ran(text: bytes, given: bytes) -> RawResult:
    return run_raw(text, ctx=given, fuel=FUEL)


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_nearly_fits(group: int) -> None:
    """A run that fails, or has no end, says nothing: a verifier would have refused the program. Of the 480, four are for what passes once did wrong."""
    found: Counter[str] = Counter()
    for seed in range(FIRST + group * EACH, FIRST + (group + 1) * EACH):
        rng = random.Random(seed)
        source = Shapes(rng).program()
        text = changed(assemble(source), ())
        wanted = [(given, before) for given in inputs(rng) if (before := ran(text, given)).error == "ok"]
        for name, better in forms(text, rng):
            if better == text:
                continue
            found[name] += 1
            for given, before in wanted:
                after = ran(better, given)
                assert (after.error, after.r0, after.ctx) == (before.error, before.r0, before.ctx), f"{name}, program {seed}\n{source}"
    assert all(found[one.__name__] for one in ALONE), {one.__name__ for one in ALONE if not found[one.__name__]}


def test_what_nothing_leads_to_has_an_end() -> None:
    """A circle of copies, apart from the rest: looking for what made one went round in it."""
    text = assemble(Shapes(random.Random(1004935)).program())
    assert changed(text, (rename_copies,)) != text
