"""Each operation of the abstract domain contains every concrete result (domain.py's contract)."""
import pytest
from hypothesis import given, settings, strategies as st

from lpn.verifier import comparisons, domain as d

CORNERS = [0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63,
           (1 << 64) - 1, (1 << 64) - 8, (1 << 64) - (1 << 31)]
values = st.one_of(st.sampled_from(CORNERS), st.integers(0, (1 << 64) - 1), st.integers(0, 300),
                   st.integers(-300, -1).map(lambda x: x & d.M64), st.integers(0, (1 << 32) - 1))


@st.composite
def sets(draw):
    """A Num and a value in it: the join of some values, perhaps cut by bounds that hold for one of them."""
    members = draw(st.lists(values, min_size=1, max_size=4))
    n = d.const(members[0])
    for m in members[1:]:
        n = d.join(n, d.const(m))
    x = draw(st.sampled_from(members))
    if draw(st.booleans()):
        other = draw(values)
        for name in draw(st.lists(st.sampled_from(sorted(comparisons.NEGATED)), max_size=3)):
            wide = draw(st.booleans())
            holds = concrete_compare(name, x, other, wide)
            cut = comparisons.refine(name if holds else comparisons.NEGATED[name], n, d.const(other), wide)
            assert cut is not None
            n = cut[0]
    assert x in n
    return n, x


def concrete_compare(name, a, b, wide):
    width, signed = (d.M64, d.s64) if wide else (d.M32, d.s32)
    a, b = a & width, b & width
    if name.startswith("JS") and name != "JSET":
        a, b, name = signed(a), signed(b), name.replace("JS", "J")
    return {"JEQ": a == b, "JNE": a != b, "JGT": a > b, "JGE": a >= b, "JLT": a < b, "JLE": a <= b, "JSET": bool(a & b)}[name]


def truncating(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def concrete_alu(name, a, b, wide):
    """RFC 9669, 4.1, with divisors and shift counts in range."""
    mask, signed = (d.M64, d.s64) if wide else (d.M32, d.s32)
    a, b = a & mask, b & mask
    result = {"ADD": lambda: a + b, "SUB": lambda: a - b, "MUL": lambda: a * b, "OR": lambda: a | b, "AND": lambda: a & b,
              "XOR": lambda: a ^ b, "LSH": lambda: a << b, "RSH": lambda: a >> b, "ARSH": lambda: signed(a) >> b,
              "DIV": lambda: a // b, "MOD": lambda: a % b, "SDIV": lambda: truncating(signed(a), signed(b)),
              "SMOD": lambda: signed(a) - truncating(signed(a), signed(b)) * signed(b)}[name]()
    return result & mask


@pytest.mark.parametrize("wide", [True, False], ids=["64", "32"])
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "OR", "AND", "XOR", "LSH", "RSH", "ARSH", "DIV", "MOD", "SDIV", "SMOD"])
@given(a=sets(), b=sets())
@settings(max_examples=60, deadline=None)
def test_arithmetic(name, wide, a, b):
    (na, x), (nb, y) = a, b
    if name in ("LSH", "RSH", "ARSH"):
        count = d.const(63 if wide else 31)
        nb, y = d.and_(nb, count), y & count.ulo
    if name in ("DIV", "MOD", "SDIV", "SMOD"):
        if not y & (d.M64 if wide else d.M32):
            return
        cut = comparisons.refine("JNE", nb, d.const(0), wide)[0]
        nb = cut if wide else d.low32(cut)
        if 0 in nb:
            return                                    # the machine refuses these
    assert concrete_alu(name, x, y, wide) in d.alu(name, na, nb, wide)


@given(a=sets(), b=sets(), wide=st.booleans(), name=st.sampled_from(sorted(set(comparisons.NEGATED) | {"JNSET"})))
@settings(max_examples=600, deadline=None)
def test_comparisons(a, b, wide, name):
    (na, x), (nb, y) = a, b
    holds = not concrete_compare("JSET", x, y, wide) if name == "JNSET" else concrete_compare(name, x, y, wide)
    cut = comparisons.refine(name, na, nb, wide)
    if holds:
        assert cut is not None and x in cut[0] and y in cut[1]
    if cut:
        assert d.leq(cut[0], na) and d.leq(cut[1], nb)


@given(a=sets(), b=sets(), steps=st.lists(st.integers(-1000, 1 << 33), max_size=6).map(sorted))
@settings(max_examples=400, deadline=None)
def test_lattice(a, b, steps):
    (na, x), (nb, y) = a, b
    both = d.join(na, nb)
    assert x in both and y in both and d.leq(na, both) and d.leq(nb, both)
    assert d.leq(both, d.widen(na, both, steps))
    met = d.meet(na, nb)
    if x in nb:
        assert met is not None and x in met


@given(a=sets(), width=st.sampled_from([8, 16, 32]), bounds=st.tuples(st.integers(-(1 << 65), 1 << 65), st.integers(0, 1 << 66)))
@settings(max_examples=400, deadline=None)
def test_unary(a, width, bounds):
    n, x = a
    low = x & ((1 << width) - 1)
    assert (low - (1 << width) if low >> (width - 1) else low) & d.M64 in d.sign_extend(n, width)
    assert low in d.truncate(n, width // 8)
    for bits in (16, 32, 64):
        assert int.from_bytes((x & ((1 << bits) - 1)).to_bytes(bits // 8, "little"), "big") in d.byte_swap(n, bits)
    lo, hi = bounds[0], bounds[0] + bounds[1]
    if lo <= d.s64(x) <= hi:
        assert x in d.within(n, lo, hi)
    assert x in d.low32(n) or x > d.M32


@given(a=sets())
def test_widening_ends(a):
    """A chain in which some bound grows in every step is short."""
    n, _ = a
    for seen in range(100):
        grown = d.join(d.join(n, d.const(n.uhi + 1)), d.const(n.slo - 1))
        if d.leq(grown, n):
            break
        n = d.widen(n, grown, [0, 255, 1 << 16])
    assert seen < 40


def test_extension_keeps_signed_bounds_of_the_low_half():
    """-8 is a large number where it was moved in 32 bits, and a small one where an octet was loaded with its sign."""
    n = d.sign_extend(d.join(d.const(-8 & d.M32), d.signed(-7, 127)), 8)
    assert (n.slo, n.shi) == (-8, 127)



#: Bounds as comparisons leave them, which no number has; they do not show it.
EMPTY = [d._raw(128, 0x80000005, 0x7FFFFFFF, 1 << 31, 0x7FFFFFFF, 1 << 31, 0x7FFFFFFF, 1 << 31, -0x7FFFFF80, 128),
         d._raw(1, d.M64 - 1, 0x7FFFFFFF, 18446744071562067967, -0x7FFFFFFF, 255, 0x7FFFFFFF, 1 << 31, -0x7FFFFFFF, 255),
         d._raw(128, d.M64 - 147, 128, d.M64 - 23, -16, 8, 128, 0xFFFFFFEC, -16, 8)]


@pytest.mark.parametrize("n", EMPTY)
def test_what_is_empty_and_not_seen_to_be_gives_something(n):
    """No operation of the domain but those that sharpen gives the empty set."""
    for value in CORNERS:
        for name in ("ADD", "SUB", "MUL", "OR", "AND", "XOR"):
            assert all(d.alu(name, n, d.const(value), wide) is not None for wide in (True, False)), name
        comparisons.refine("JNE", d.const(value), n, False)    # which may say that nothing is left
    for count in (0, 1, 4, 8, 31):
        for name in ("LSH", "RSH", "ARSH"):
            assert all(d.alu(name, n, d.const(count), wide) is not None for wide in (True, False)), name
    assert None not in [d.neg(n), d.low32(n), *[d.join(n, other) for other in EMPTY], *[d.widen(n, other, []) for other in EMPTY]]
    assert None not in [made(n, width) for width in (8, 16, 32) for made in (d.sign_extend, d.byte_swap, lambda n, width: d.truncate(n, width // 8))]
