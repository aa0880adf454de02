"""What read-only data hold may be known: a load gives one of the entries that its address can lead to."""
import pytest

from lpn.compiler.asm import assemble
from lpn.runtime.instrumented.claims import Claims, Runner
from lpn.verifier import LPN, XDP, analyse, verify
from lpn.verifier.certify import NoCertificate, Sizes, certify

HEAD = """r2 = *(u32 *)(r1 + 0)
r3 = *(u32 *)(r1 + 4)
r0 = 0
r4 = r2
r4 += 8
if r4 > r3 goto end
r5 = *(u8 *)(r2 + 0)
"""
LOOKED_UP = "r6 = rodata + 0 ll\nr6 += r5\n"
TAIL = "r2 += r7\nr0 = *(u8 *)(r2 + 0)\nend: exit"
CASES = {
    "an octet of four": ("r5 &= 3\n", "r7 = *(u8 *)(r6 + 0)\n", bytes([7, 0, 1, 2]), True),
    "one of them leads behind": ("r5 &= 3\n", "r7 = *(u8 *)(r6 + 0)\n", bytes([7, 0, 8, 2]), False),
    "the one that leads behind is never looked up": ("r5 &= 1\n", "r7 = *(u8 *)(r6 + 0)\n", bytes([7, 0, 8, 2]), True),
    "nor is it where only even places are": ("r5 &= 2\n", "r7 = *(u8 *)(r6 + 0)\n", bytes([7, 255, 3, 255]), True),
    "nor where all but some are left out": ("w5 %= 3\nw5 *= 3\n", "r7 = *(u8 *)(r6 + 0)\n", bytes([7, 99, 99, 0, 99, 99, 1]), True),
    "a halfword, least octet first": ("r5 &= 2\n", "r7 = *(u16 *)(r6 + 0)\n", bytes([7, 0, 3, 0]), True),
    "a halfword across entries": ("r5 &= 1\n", "r7 = *(u16 *)(r6 + 0)\n", bytes([7, 0, 3, 0]), False),
    "a signed octet, taken off": ("r5 &= 3\n", "r7 = *(s8 *)(r6 + 0)\nr7 += 1\n", bytes([255, 0, 1, 2]), True),
    "a signed octet before the packet": ("r5 &= 3\n", "r7 = *(s8 *)(r6 + 0)\nr7 += 1\n", bytes([254, 0, 1, 2]), False),
    "behind what there is": ("r5 &= 7\n", "r7 = *(u8 *)(r6 + 0)\n", bytes([7, 0, 1, 2]), False),
}


@pytest.mark.parametrize("name", CASES)
def test_entries(name):
    before, load, held, right = CASES[name]
    text = assemble(HEAD + before + LOOKED_UP + load + TAIL)
    report, analysis = analyse(text, XDP, rodata=len(held), constants=held)
    assert report.accepted == right, report.message
    assert not verify(text, XDP, rodata=len(held)).accepted
    if right:
        claims = Claims(text, XDP.with_sizes(rodata=len(held)).holding("rodata", held), None, (report, analysis), 1)
        assert Runner().batch(claims, 1, 300) is None


def test_a_claim_is_not_true_of_other_content():
    before, load, held, _ = CASES["an octet of four"]
    text = assemble(HEAD + before + LOOKED_UP + load + TAIL)
    found = analyse(text, XDP, rodata=4, constants=held)
    assert Runner().batch(Claims(text, XDP.with_sizes(rodata=4).holding("rodata", bytes([7, 0, 1, 9])), None, found, 1), 1, 300) is not None


def test_what_is_written_is_not_known():
    """The same of data: another run may have left anything there."""
    text = assemble(HEAD + "r5 &= 3\n" + LOOKED_UP.replace("rodata", "data") + "r7 = *(u8 *)(r6 + 0)\n" + TAIL)
    assert verify(text, XDP, data=4, constants=bytes(4)).rule == 19


def test_no_certificate():
    """The node's checker knows the sizes of read-only data, not what they hold."""
    text = assemble("r2 = rodata + 0 ll\nr0 = *(u8 *)(r2 + 0)\nexit")
    sizes = Sizes(rodata=4)
    assert certify(text, *analyse(text, LPN, rodata=4), sizes)
    with pytest.raises(NoCertificate, match="read-only data"):
        certify(text, *analyse(text, LPN, rodata=4, constants=bytes(4)), sizes)


def test_entries_that_are_looked_at_are_counted():
    """Of tables of tables what is not looked at any more may be anything: a text may load from as many places as it has slots."""
    from lpn.verifier import memory
    load = "r6 = rodata + 0 ll\nr6 += r5\nr7 = *(u8 *)(r6 + {})\n"
    before = HEAD.replace("u8", "u16") + "r5 &= 0x3fff\n"
    held = bytes(memory.ENTRIES + 64)

    def judged(times: int):
        return verify(assemble(before + "".join(load.format(n) for n in range(times)) + TAIL), XDP, rodata=len(held), constants=held)
    enough = memory.ALL_ENTRIES // memory.ENTRIES
    assert judged(enough).accepted and judged(enough + 1).rule == 19
