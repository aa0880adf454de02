"""Each pass over the bytecode, some of them in any order, and all of them: a program means what it meant, whatever nearly fits a pass."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from lpn.compiler.asm import AsmError, assemble
from lpn.compiler.passes.begins import merge_begins
from lpn.compiler.passes.ends import shorten_ends
from lpn.compiler.passes.known_bits import decide_by_bits, drop_constants
from lpn.compiler.passes.made_once import make_once
from lpn.compiler.passes.peephole import PASSES, improve
from lpn.compiler.passes.placement import place_beside
from lpn.compiler.passes.renamed import rename_copies
from lpn.compiler.passes.rewrite import Line, read, sweep, write
from lpn.compiler.passes.stack_slots import share_stack, with_less_stack
from lpn.compiler.passes.stored import store_once
from lpn.compiler.passes.tails import merge_tails
from lpn.runtime.raw import RawResult, run_raw
from pass_programs import LIKED, Shapes, nearly

FIRST, GROUPS, EACH, MORE, FUEL = 600, 4, 120, 84, 3000
NEAR, FEW, TURNS, CLOSE = 320, 12, 3, 4
KEPT, WORDS = 2000, 12


def share_all(code: list[Line]) -> bool:
    """The stack of a container without variables."""
    share_stack(code, 0)
    return False


ALONE = (*PASSES, decide_by_bits, drop_constants, merge_tails, share_all)
#: What random bytecode hardly has; tests/test_short_code.py and tests/test_ends.py do.
SELDOM = (place_beside, merge_begins, make_once, store_once, shorten_ends)


def changed(text: bytes, passes: tuple[Callable[[list[Line]], object], ...]) -> bytes:
    code = read(text, [])
    sweep(code)                                 # or what nothing leads to would count as done by each
    for one in passes:
        one(code)
        sweep(code)
    return write(code)[0]


def forms(text: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    for one in (*ALONE, *SELDOM):
        yield one.__name__, changed(text, (one,))
    some = tuple(rng.sample(ALONE, 5))
    yield " ".join(one.__name__ for one in some), changed(text, some)
    better = improve(text, [])
    yield "all", better[0]
    yield "all, short", improve(text, [], small=True)[0]
    yield "all, and the stack", with_less_stack(*better, 0)[0]


def inputs(rng: random.Random) -> list[bytes]:
    few = (0, 1, 2, 3, 4, 5, 8), (0, 1, 0x7f, 0x80, 0xff), range(256)
    return [bytes(rng.choices(rng.choice(few), k=24)) for _ in range(4)]


def ran(text: bytes, given: bytes) -> RawResult:
    return run_raw(text, ctx=given, fuel=FUEL)


def means_the_same(better: bytes, wanted: list[tuple[bytes, RawResult]], program: str) -> None:
    for given, before in wanted:
        after = ran(better, given)
        assert (after.error, after.r0, after.ctx) == (before.error, before.r0, before.ctx), program


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_nearly_fits(group: int) -> None:
    """A run that fails, or has no end, says nothing: a verifier would have refused the program. Of the 480, four are for what passes once did wrong."""
    found: Counter[str] = Counter()
    kept = range(KEPT + group * WORDS, KEPT + (group + 1) * WORDS)
    for seed in (*range(FIRST + group * EACH, FIRST + (group + 1) * EACH), *range(group * MORE, (group + 1) * MORE), *kept):
        rng = random.Random(seed)
        source = Shapes(rng, LIKED[seed % len(LIKED)] if seed < FIRST else "", seed in kept).program()
        text = changed(assemble(source), ())
        wanted = [(given, before) for given in inputs(rng) if (before := ran(text, given)).error == "ok"]
        for name, better in forms(text, rng):
            if better == text:
                continue
            found[name] += 1
            means_the_same(better, wanted, f"{name}, program {seed}\n{source}")
    assert all(found[one.__name__] for one in ALONE), {one.__name__ for one in ALONE if not found[one.__name__]}


def test_what_is_nearly_the_same() -> None:
    """One thing is changed where a pass did something: with some of these it does something there again, with others it does not. They mean what they meant."""
    acts: Counter[str] = Counter()
    leaves: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + NEAR):
        rng = random.Random(seed)
        source = Shapes(rng, rng.choice(("", *LIKED)), seed % 4 == 3).program()
        few = [one for one in ALONE if min(acts[one.__name__], leaves[one.__name__]) < FEW]
        for one in few:
            places = done_by(one, source)
            for _ in range(TURNS if places else 0):
                try:
                    other, at = nearly(source, rng, places)
                    text = changed(assemble(other), ())
                except (AsmError, IndexError, KeyError):        # no program
                    continue
                wanted = [(given, before) for given in inputs(rng) if (before := ran(text, given)).error == "ok"]
                if wanted:
                    for better in (changed(text, (one,)), improve(text, [])[0] if not rng.randrange(4) else text):
                        means_the_same(better, wanted if better != text else [], f"{one.__name__}, program {seed}\n{other}")
                    (acts if any(abs(place - at) < CLOSE for place in done_by(one, other)) else leaves)[one.__name__] += 1
    found = {one.__name__: (acts[one.__name__], leaves[one.__name__]) for one in ALONE}
    assert all(min(both) > 1 for both in found.values()), {name: both for name, both in found.items() if min(both) < 2}


def done_by(one: Callable[[list[Line]], object], source: str) -> list[int]:
    """The numbers of the instructions that a pass changes, moves or takes out."""
    lines = read(assemble(source), [])
    code, were = [*lines], [(line.insn, line.target) for line in lines]
    sweep(code)
    there = [*code]
    one(code)
    left = [line for line in code if not line.dead]
    follows, index = dict(zip(left, left[1:])), {line: i for i, line in enumerate(lines)}
    kept, before = set(left), set(there)
    changes = [i for i, (line, was) in enumerate(zip(lines, were)) if line in before and (line not in kept or (line.insn, line.target) != was)]
    return changes or [index[line] for line, other in zip(there, there[1:]) if follows.get(line) is not other]


def test_what_nothing_leads_to_has_an_end() -> None:
    """A circle of copies, apart from the rest: looking for what made one went round in it."""
    text = assemble(Shapes(random.Random(1004935)).program())
    assert changed(text, (rename_copies,)) != text
