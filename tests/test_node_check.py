"""What a node refuses of a set before it runs: interrupts that wait, and clocks that leave no time."""

import random
import re
from dataclasses import replace
from itertools import accumulate

import pytest
from cli import lpnc
from hypothesis import given, settings, strategies as st
from node_bench import Bench
from node_programs import STATE, bundle
from programs import ROOT
from test_pack import PackedDispatch, certified

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Extern, Hook
from lpn.compiler.helpers import COST_UNIT, FIRST_OWN, HELPERS, LAST_OWN, which
from lpn.compiler.image import Flag, Image, Kind
from lpn.runtime.engine.node_native import NativeDispatch
from lpn.runtime.engines import EngineError
from lpn.runtime.load import COST_INSNS, EMPTY, FUEL, INSN_NS, LOAD_US, RUN_INSNS, SHARE, claimed, limit, load_of, loads, refused
from lpn.runtime.pack import pack
from lpn.verifier.certificate import Certificate, varint
from lpn.verifier.cost import load as costs

OVER = "every and slot may take too much of the time"


# ---------------------------------------------------------------- interrupts

def calling(number: int) -> str:
    """Calls a helper, with arguments that most take."""
    return f"r1 = {which(0, 4, 4)}\nr2 = r10\nr2 += -8\nr3 = r2\nr4 = 0\nr5 = 0\ncall {number}\nw0 = 0\nexit"


def in_isr(text: str, extern: Extern | None = None, kind: Kind = Kind.TIMING) -> Bundle:
    image = Image("T0", kind, assemble(text), record_size=16, state_size=STATE, record_hash=1, state_hash=2)
    made = bundle([Hook("radio.rx_start", ("T0",), "isr")], [[]])
    return replace(made, modules=(image,), externs=(extern,) if extern else ())


def taken(made: Bundle) -> bool:
    """Whether a node takes it, as a bundle and as a pack; what runs goes on if not."""
    bench = Bench([Hook("app.tx", ("C0",), "net")], [[]])
    given_ = {e.name: lambda *_: 0 for e in made.externs}
    try:
        bench.node.swap(made, externs=given_)
    except EngineError as e:
        assert str(e) == "hook 0 (radio.rx_start): helper not allowed in this context"
        bench.event("app.tx", 7, packet=b"")
        bench.poll_all()
        assert bench.log == ["app.tx"]
        return False
    bench.event("radio.rx_start")
    assert bench.node.stats(0).runs == 1
    return True


@pytest.mark.parametrize("helper", HELPERS, ids=lambda helper: helper.name)
def test_an_interrupt_calls_what_is_for_it(helper):
    assert taken(in_isr(calling(helper.number))) == ("isr" in helper.contexts)


@pytest.mark.parametrize("where", ["w0 = 0\nif w0 != 1 goto skip\n{}\nskip: exit", "call inner\nw0 = 0\nexit\ninner: {}\nw0 = 0\nexit"],
                         ids=["never", "in a function"])
def test_it_is_refused_wherever_the_call_stands(where):
    body = calling(6).removesuffix("\nexit")
    assert not taken(in_isr(where.format(body)))
    assert taken(in_isr(where.format(body.replace("call 6", "call 2"))))


def test_what_looks_like_a_call_is_none():
    """The second slot of an lddw, whose upper half is chosen freely, and a local call."""
    assert taken(in_isr(f"r3 = {0x0000_0006_0000_0085} ll\nw0 = 0\nexit"))
    assert taken(in_isr("call inner\nexit\ninner: w0 = 0\nexit"))


@pytest.mark.parametrize("contexts, may", [(("isr", "radio"), True), (("radio", "net"), False)])
def test_an_interrupt_calls_functions_of_the_node_that_are_for_it(contexts, may):
    assert taken(in_isr(calling(FIRST_OWN), Extern("beep", (), 0, 100, contexts))) == may


def test_one_that_is_not_there_is_refused_in_an_interrupt():
    assert not taken(in_isr(calling(FIRST_OWN)))


def test_every_container_of_the_chain_is_looked_at():
    images = tuple(Image(f"C{i}", Kind.PROCESSOR, assemble(calling(2 if i < 2 else 1)), record_size=16, state_size=STATE, record_hash=1, state_hash=2)
                   for i in range(3))
    made = replace(bundle([Hook("radio.rx_start", ("C0",), "isr")], [[]]), modules=images)
    assert taken(replace(made, hooks=(Hook("radio.rx_start", ("C0", "C1"), "isr"),)))
    assert not taken(replace(made, hooks=(Hook("radio.rx_start", ("C0", "C1", "C2"), "isr"),)))
    assert not taken(replace(made, hooks=(Hook("radio.rx_start", ("C2", "C1", "C0"), "isr"),)))


# ---------------------------------------------------------------- clocks

def lasting(insns: int, begins: bytes = b"") -> Image:
    """A container of so many instructions, 2 at least, with its certificate; `begins`: how that begins, in place of the shortest form."""
    image = Image("T", Kind.TIMING, assemble("\n".join(["w0 = 0"] * (insns - 1) + ["exit"])), record_size=16, state_size=STATE, record_hash=1, state_hash=2)
    certificate = Certificate(2, insns, [], []).to_bytes()
    shortest = bytes([EMPTY + 1]) + varint(insns)
    assert certificate.startswith(shortest)
    return replace(image, certificate=(begins or shortest) + certificate[len(shortest):], flags=image.flags | Flag.CERTIFIED | Flag.CLEAN32)


def clocked(*given_: tuple[Image, int]) -> Bundle:
    """A bundle of hooks `every`, each with its container and period."""
    hooks = tuple(Hook("every", (f"T{i}",), period=period) for i, (_, period) in enumerate(given_))
    return replace(bundle(hooks, [[]] * len(hooks)), modules=tuple(replace(image, name=f"T{i}") for i, (image, _) in enumerate(given_)))


def answer(made: Bundle, most: int, fuel: int = FUEL, kind: type[NativeDispatch] = NativeDispatch) -> int | None:
    """The hook for which the C node refuses it."""
    bench = Bench([], [])
    node = kind(bundle([], []), bench, fuel=fuel, load=most)
    try:
        node.swap(made)
    except EngineError as e:
        assert str(e).endswith(f": {OVER}")
        return int(str(e).split()[1].rstrip(":"))
    return None


@pytest.mark.parametrize("helper", HELPERS, ids=lambda helper: helper.name)
def test_each_call_of_a_helper_counts_once(helper):
    """As its row in the table says, in cycles at 72 MHz, which are nanoseconds that an instruction counts for."""
    image = in_isr(calling(helper.number)).modules[0]
    insns, each = len(image.text) // 8, COST_INSNS * -(-helper.cost_cycles // COST_UNIT)
    assert helper.cost_cycles <= each * INSN_NS * 72 / 1000 < helper.cost_cycles + COST_UNIT + 1
    fuel = 9                                                            # it has no certificate
    for calls in (1, 3):
        text = image.text[:-16] * calls + image.text[-16:]
        assert insns > fuel - 1
        least = -(-(fuel + calls * each + RUN_INSNS) * LOAD_US // limit())
        assert answer(clocked((replace(image, text=text), least)), limit(), fuel=fuel) is None
        assert answer(clocked((replace(image, text=text), least - 1)), limit(), fuel=fuel) == 0


def test_functions_of_the_nodes_own_and_local_ones_cost_an_instruction():
    for text in ("call inner\nexit\ninner: w0 = 0\nexit", f"r3 = {0x0000_0006_0000_0085} ll\nw0 = 0\nexit", f"call {LAST_OWN}\nexit"):
        image = replace(lasting(2), text=assemble(text), certificate=b"", flags=Flag(0))
        assert answer(clocked((image, 110)), limit(), fuel=3) is None
        assert answer(clocked((image, 107)), limit(), fuel=3) == 0


@pytest.mark.parametrize("kind", [NativeDispatch, PackedDispatch])
def test_a_handler_may_take_its_share_and_not_a_microsecond_more(kind):
    """100 instructions, and 40 for the run, of 1.25 us: 175 us. Half of the time is 350; what is rounded is rounded up."""
    image = lasting(100)
    assert answer(clocked((image, 351)), limit(), kind=kind) is None
    assert answer(clocked((image, 350)), limit(), kind=kind) == 0
    assert answer(clocked((image, 1)), limit(), kind=kind) == 0
    assert answer(clocked((image, 1)), 0, kind=kind) is None            # a node that does not ask


def test_hooks_share_what_there_is():
    image = lasting(100)
    assert answer(clocked(*[(image, 3520)] * 10), limit()) is None
    assert answer(clocked(*[(image, 3520)] * 11), limit()) == 10
    assert answer(clocked(*[(image, 3520)] * 9, (image, 3354)), limit()) is None
    assert answer(clocked(*[(image, 3520)] * 9, (image, 3353)), limit()) == 9
    assert answer(clocked((image, 1), *[(image, 3520)] * 9), limit()) == 0


def test_slots_count_and_what_has_no_clock_does_not():
    long = lasting(4000)
    others = bundle([Hook("slot", ("T0",), period=10_000), Hook("after", ("T1",)), Hook("radio.tx_done", ("T2",))], [[]] * 3)
    made = replace(others, modules=tuple(replace(long, name=f"T{i}") for i in range(3)))
    assert answer(made, limit()) == 0                                   # 5.05 of 10 ms
    assert answer(replace(made, hooks=(replace(made.hooks[0], period=10_200), *made.hooks[1:])), limit()) is None


def test_what_has_no_certificate_counts_with_the_fuel_of_a_run():
    image = replace(lasting(10), certificate=b"", flags=Flag.CLEAN32)
    enough = -(-(FUEL + RUN_INSNS) * LOAD_US // limit())                # a quarter of a second
    assert answer(clocked((image, enough)), limit()) is None
    assert answer(clocked((image, enough - 1)), limit()) == 0
    assert answer(clocked((image, 200)), limit(), fuel=20) is None


def test_what_is_too_much_to_be_counted_is_refused_whatever_its_period():
    """2^20 instructions with those of the run: 1.3 s."""
    image = replace(lasting(10), certificate=b"", flags=Flag.CLEAN32)
    assert answer(clocked((image, 2**31 - 1)), 2**32 - 2, fuel=2**20 - RUN_INSNS - 1) is None
    assert answer(clocked((image, 2**31 - 1)), 2**32 - 2, fuel=2**20 - RUN_INSNS) == 0


def test_a_run_has_no_more_than_its_fuel():
    assert answer(clocked((lasting(3000), 1000)), limit()) == 0
    assert answer(clocked((lasting(3000), 1000)), limit(), fuel=300) is None


def test_a_pack_that_is_trusted_without_certificates_is_not_asked():
    made = clocked((replace(lasting(10), certificate=b"", flags=Flag.CLEAN32), 100))
    node = PackedDispatch(bundle([], []), Bench([], []), load=limit())
    with pytest.raises(EngineError, match=f"^hook 0: {OVER}$"):
        node.load(pack(made), made)
    node.load(pack(made), made, certified=2)


@pytest.mark.parametrize("begins", [bytes([0x91, 0]), bytes([0x91, 0x80, 0x80, 0x80, 0]), b"\x11", b"\x12", b"\x15"], ids=bytes.hex)
@pytest.mark.parametrize("number", [bytes([0xe4, 0]), bytes([0xe4, 0x80, 0x80, 0x80, 0]), bytes([0xe4, 0x80, 0x80, 0x80, 0x70])], ids=bytes.hex)
def test_a_number_written_at_length_hides_nothing(begins, number):
    """The checker takes long forms of its numbers: a cost of 100, in five ways, of which an unused bit of the last octet is lost."""
    rest = b"" if begins[-1] == 0 or begins == b"\x11" else bytes(begins[0] - EMPTY - 1)
    image = lasting(100, begins + number + rest)
    assert claimed(image) == 100
    assert answer(clocked((image, 351)), limit()) is None
    assert answer(clocked((image, 350)), limit()) == 0


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 300), st.one_of(st.integers(1, 5000), st.integers(1, 2**31 - 1)), st.lists(st.sampled_from([1, 5, 7, 10, 15, FIRST_OWN]), max_size=3)),
                min_size=1, max_size=8),
       st.one_of(st.sampled_from([1, 10, 100, limit(), 2**32 - 1]), st.integers(1, 2**32 - 1)),
       st.one_of(st.integers(1, 400), st.sampled_from([FUEL, 2**20 - 41, 2**20 - 40, 2**20, 2**32 - 41, 2**32 - 1])), st.booleans())
def test_the_node_counts_as_the_model_does(hooks, most, fuel, close):
    """Also where the node's time is just enough, or one instruction too little."""
    made = clocked(*[(replace(lasting(insns), text=assemble("\n".join(f"call {number}" for number in numbers)) + lasting(insns).text, certificate=b"", flags=Flag(0))
                      if numbers else lasting(insns), period) for insns, period, numbers in hooks])
    sums = list(accumulate(loads(made, fuel).values()))
    for each in {sums[-1], sums[0], sums[-1] - 1} if close else {most}:
        if 0 < each < 2**32:
            assert answer(made, each, fuel) == refused(made, each, fuel)
    assert sums[-1] >= 2**32 or refused(made, sums[-1], fuel) is None and refused(made, sums[-1] - 1, fuel) == len(hooks) - 1


@pytest.mark.parametrize("name", ["duty/duty", "tsch_slot/tsch_slot", "rpl_dio/rpl_dio"])
def test_examples_are_taken_by_a_node_that_has_just_enough_time(name):
    """Certified, with calls of the radio; far below what a node has."""
    made = certified(name)
    costs_, need = loads(made), sum(loads(made).values())
    assert costs_ and need < limit() / 5
    assert answer(made, need) is None and answer(made, need - 1) == max(costs_)


def test_the_model_counts_what_there_is_and_never_less():
    draw = random.Random(7)
    for _ in range(2000):
        insns, period = draw.choice([0, 1, 99, 10**5, 2**20 - 41, 2**20 - 40, 2**28]), draw.randrange(1, 2**draw.randrange(2, 32))
        counted, true = load_of(insns, period), (insns + RUN_INSNS) * LOAD_US / period
        assert true <= counted < true + 1.001 or counted == 2**32 - 1 and insns + RUN_INSNS >= 2**20


def test_the_command_says_what_a_node_will_refuse(tmp_path):
    path = tmp_path / "busy.lpn"
    for period, note in {"1us": "Busy.every_1us: with it, every and slot may take 5750.00 % of a node's time; a node that is built without CONFIG_LPN_CLOCK_SHARE gives them "
                                "50 %, and refuses the pack (hook 0): let periods be longer, or handlers do less", "1ms": ""}.items():
        path.write_text(f"timing Busy {{ counter<bit<32>> turns; every {period} {{ turns.count(); }} }}")
        result = lpnc("pack", path)
        assert result.exit_code == 0 and result.stderr.strip() == (f"note: {note}" if note else "")
    path.write_text("timing Busy { counter<bit<32>> turns; every 1us { turns.count(); } }")
    assert lpnc("pack", path, "--trusted").stderr == ""


def test_defaults_are_those_of_the_header():
    """And a share of the time leaves some, if all of it goes into the dearest instruction that certificates cover, helpers aside."""
    text = (ROOT / "runtime/riot/lpn/include/lpn_riot.h").read_text() + (ROOT / "runtime/engine/lpn_node.h").read_text()
    said = dict(re.findall(r"# *define (\w+) +(\d+)\b", text))
    assert [int(said[name]) for name in ("CONFIG_LPN_CLOCK_SHARE", "CONFIG_LPN_INSN_NS", "CONFIG_LPN_FUEL", "LPN_LOAD_US", "LPN_RUN_INSNS", "LPN_COST_INSNS")] \
        == [SHARE, INSN_NS, FUEL, LOAD_US, RUN_INSNS, COST_INSNS]
    for table in ("m3_certified", "m3_smallest"):
        priced = costs(table)
        dearest = max(cost.most for name, cost in priced.insns.items() if not name.startswith(("0x85", "0xc3", "0xcb", "0xd3", "0xdb")))
        assert dearest / priced.mhz * 1000 * SHARE < INSN_NS * 100, table
