"""The modelled AT86RF231 against its data sheet: registers, transitions and their times, frames, acknowledgements, CSMA-CA."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")

from lpn.runtime.twin import mac
from lpn.runtime.twin.air import LEAD, Air, Link, Transmission
from lpn.runtime.twin.clock import US, Queue
from lpn.runtime.twin.rf231 import Rf231
from lpn.runtime.twin.rf231_table import (AWAKE_END, CCA_TIME, CURRENT, OCTET, RESET, SHR, TRANSITIONS, WAKE, Command, Irq, Reg, State, Trac)

PAN, SHORT, LONG = 0x23, 0x1234, 0x0102030405060708


class Host:
    """Time without a board."""

    def __init__(self) -> None:
        self.queue, self.now = Queue(), 0

    def at(self, time, action):
        return self.queue.at(time, action)

    def wait(self, us: float) -> None:
        end = self.now + round(us * US)
        while self.queue.next <= end:
            self.now = max(self.now, self.queue.next)
            self.queue.run(self.now)
        self.now = end


class Bench:
    """Radios on one air and one clock, as a driver sees them: by SPI."""

    def __init__(self, radios: int = 1, **air) -> None:
        self.host, self.air = Host(), Air(**air)
        self.irq: dict[int, list[tuple[int, bool]]] = {i: [] for i in range(radios)}
        self.radios = [Rf231(self.host, self.air, f"r{i}", irq=lambda level, i=i: self.irq[i].append((self.host.now // US, level)))
                       for i in range(radios)]
        for i in range(radios):
            self.go(Command.TRX_OFF, i)
            for register, value in ((Reg.PAN_ID_0, PAN & 255), (Reg.PAN_ID_1, PAN >> 8), (Reg.SHORT_ADDR_0, (SHORT + i) & 255),
                                    (Reg.SHORT_ADDR_1, SHORT >> 8), (Reg.IRQ_MASK, 0xFF)):
                self.write(register, value, i)
            for octet in range(8):
                self.write(Reg.IEEE_ADDR_0 + octet, LONG + i >> 8 * octet & 255, i)
            self.read(Reg.IRQ_STATUS, i)

    def _access(self, octets: bytes, which: int) -> bytes:
        spi = self.radios[which].spi
        spi.select(False)
        back = bytes(spi.exchange(octet) for octet in octets)
        spi.select(True)
        return back

    def read(self, register: int, which: int = 0) -> int:
        return self._access(bytes((0x80 | register, 0)), which)[1]

    def write(self, register: int, value: int, which: int = 0) -> None:
        self._access(bytes((0xC0 | register, value)), which)

    def state(self, which: int = 0) -> State:
        return State(self.read(Reg.TRX_STATUS, which) & 0x1F)

    def go(self, command: Command, which: int = 0, wait: float = 200) -> State:
        self.write(Reg.TRX_STATE, command, which)
        self.host.wait(wait)
        return self.state(which)

    def load(self, frame: bytes, which: int = 0) -> None:
        """Room for the FCS is counted in."""
        self._access(bytes((0x60, len(frame) + 2)) + frame + b"\0\0", which)

    def buffer(self, which: int = 0) -> tuple[bytes, int]:
        """(PSDU, LQI)."""
        length = self._access(bytes((0x20, 0)), which)[1]
        back = self._access(bytes(length + 3).replace(b"\0", b"\x20", 1), which)
        return back[2:2 + length], back[2 + length]


def data(to: int = SHORT + 1, sequence: int = 7, ack: bool = True, payload: bytes = b"payload", pan: int = PAN) -> bytes:
    control = 0x8841 | (0x20 if ack else 0)
    return control.to_bytes(2, "little") + bytes((sequence,)) + pan.to_bytes(2, "little") + to.to_bytes(2, "little") + SHORT.to_bytes(2, "little") + payload


# ---------------------------------------------------------------- registers

def test_reset_values():
    bench = Bench(0)
    radio = Rf231(bench.host, bench.air)
    for register in range(1, 0x30):
        if register not in (Reg.PHY_RSSI, Reg.TRX_STATUS):
            assert radio.read(register) == RESET.get(register, 0), hex(register)
    assert radio.state == State.P_ON
    assert (radio.read(Reg.PART_NUM), radio.read(Reg.VERSION_NUM), radio.read(Reg.MAN_ID_0)) == (3, 2, 0x1F)


@pytest.mark.parametrize("register", [Reg.PART_NUM, Reg.VERSION_NUM, Reg.MAN_ID_0, Reg.MAN_ID_1])
def test_what_is_read_only_stays(register):
    bench = Bench()
    before = bench.read(register)
    bench.write(register, before ^ 0xFF)
    assert bench.read(register) == before


def test_status_byte_of_an_access():
    bench = Bench()
    assert bench._access(b"\x81\0", 0)[0] == 0
    bench.write(Reg.TRX_CTRL_1, 0x20 | 1 << 2)
    assert bench._access(b"\x8F\0", 0)[0] == State.TRX_OFF


def test_sram_and_frame_buffer_are_the_same_memory():
    bench = Bench()
    bench._access(bytes((0x60, 5, 1, 2, 3, 4, 5)), 0)
    bench._access(bytes((0x40, 2, 0xAA)), 0)
    assert bench._access(bytes((0x00, 0, 0, 0, 0, 0)), 0)[2:] == bytes((5, 1, 0xAA, 3))
    assert bench._access(bytes((0x20,)) + bytes(7), 0)[1:7] == bytes((5, 1, 0xAA, 3, 4, 5))


# ---------------------------------------------------------------- states

COMMANDS = [c for c in Command if c not in (Command.TX_START, Command.FORCE_TRX_OFF, Command.FORCE_PLL_ON, Command.NOP)]


def brought_to(state: State) -> Bench:
    bench = Bench()
    way = {State.TRX_OFF: (), State.PLL_ON: (Command.PLL_ON,), State.RX_ON: (Command.RX_ON,), State.RX_AACK_ON: (Command.RX_AACK_ON,),
           State.TX_ARET_ON: (Command.PLL_ON, Command.TX_ARET_ON)}[state]
    for command in way:
        bench.go(command)
    assert bench.state() == state
    return bench


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("state", [s for s in TRANSITIONS if s != State.P_ON])
def test_each_command_in_each_state(state, command):
    """Table 7-1: the state it leads to, when, and what is ignored."""
    bench = brought_to(state)
    target, time = TRANSITIONS[state].get(command, (state, 0))
    bench.write(Reg.TRX_STATE, command)
    if time:
        bench.host.wait(time - 0.5)
        assert bench.state() == State.TRANSITION
    bench.host.wait(1)
    assert bench.state() == target


@pytest.mark.parametrize("value", [v for v in range(32) if v not in set(Command)])
def test_reserved_commands_do_nothing(value):
    bench = brought_to(State.PLL_ON)
    bench.write(Reg.TRX_STATE, value)
    bench.host.wait(500)
    assert bench.state() == State.PLL_ON


def test_from_power_on():
    bench = Bench(0)
    radio = Rf231(bench.host, bench.air)
    for command in (Command.RX_ON, Command.PLL_ON, Command.RX_AACK_ON, Command.TX_ARET_ON, Command.FORCE_PLL_ON):
        radio.command(command)
        bench.host.wait(500)
        assert radio.state == State.P_ON
    radio.command(Command.TRX_OFF)
    bench.host.wait(2)
    assert radio.state == State.TRX_OFF


@pytest.mark.parametrize("state", [State.PLL_ON, State.RX_ON, State.RX_AACK_ON, State.TX_ARET_ON])
def test_forced(state):
    """t_TR12 and t_TR14: one microsecond; FORCE_PLL_ON does nothing in TRX_OFF."""
    assert brought_to(state).go(Command.FORCE_TRX_OFF, wait=1) == State.TRX_OFF
    assert brought_to(state).go(Command.FORCE_PLL_ON, wait=1) == State.PLL_ON
    assert Bench().go(Command.FORCE_PLL_ON) == State.TRX_OFF


def test_sleep_and_wake():
    """t_TR2, t_TR3; asleep no register can be read."""
    bench = Bench()
    radio = bench.radios[0]
    radio.set_sleep_pin(True)
    bench.host.wait(36)
    assert radio.state == State.SLEEP
    assert bench.read(Reg.PART_NUM) == 0
    radio.set_sleep_pin(False)
    bench.host.wait(WAKE - 1)
    assert radio.state == State.SLEEP
    bench.host.wait(2)
    assert radio.state == State.TRX_OFF
    assert bench.read(Reg.IRQ_STATUS) & AWAKE_END


def test_reset_pin():
    bench = brought_to(State.RX_ON)
    radio = bench.radios[0]
    radio.set_reset_pin(False)
    radio.set_reset_pin(True)
    bench.host.wait(36)
    assert radio.state == State.TRANSITION
    bench.host.wait(2)
    assert radio.state == State.TRX_OFF
    assert bench.read(Reg.PAN_ID_0) == 0xFF


def test_masked_interrupts_do_not_move_the_pin():
    bench = Bench()
    bench.write(Reg.IRQ_MASK, 0)
    bench.irq[0].clear()
    bench.go(Command.PLL_ON)
    assert not any(level for _, level in bench.irq[0])
    assert bench.read(Reg.IRQ_STATUS) == 0
    bench.go(Command.TRX_OFF)
    bench.write(Reg.TRX_CTRL_1, 0x22)           # IRQ_MASK_MODE: masked ones are in IRQ_STATUS
    bench.go(Command.PLL_ON)
    assert bench.read(Reg.IRQ_STATUS) == Irq.PLL_LOCK


# ---------------------------------------------------------------- frames

def exchange(bench: Bench, frame: bytes, *, receiver: Command = Command.RX_AACK_ON, wait: float = 20_000) -> Trac:
    bench.go(receiver, 1)
    bench.go(Command.PLL_ON)
    bench.go(Command.TX_ARET_ON)
    bench.load(frame)
    bench.read(Reg.IRQ_STATUS)
    bench.irq[0].clear(), bench.irq[1].clear()
    bench.write(Reg.TRX_STATE, Command.TX_START)
    bench.host.wait(wait)
    return Trac(bench.read(Reg.TRX_STATE) >> 5)


def test_a_frame_and_its_acknowledgement():
    bench = Bench(2)
    assert exchange(bench, data()) == Trac.SUCCESS
    assert bench.state(0) == State.TX_ARET_ON and bench.state(1) == State.RX_AACK_ON
    psdu, lqi = bench.buffer(1)
    assert psdu == mac.with_fcs(data()) and lqi == 255
    assert bench.read(Reg.PHY_ED_LEVEL, 1) == 41            # -50 dBm
    assert bench.read(Reg.IRQ_STATUS, 1) & (Irq.RX_START | Irq.TRX_END | Irq.AMI) == Irq.RX_START | Irq.TRX_END | Irq.AMI
    assert bench.read(Reg.IRQ_STATUS) & Irq.TRX_END
    assert bench.read(Reg.PHY_RSSI, 1) & 0x80


def test_times_of_an_exchange():
    """7.2.3.5 and 7.2.4: RX_START behind the PHR, TRX_END behind the frame, the ACK 12 symbols later."""
    bench = Bench(2)
    bench.write(Reg.XAH_CTRL_0, 7 << 1)         # no CSMA
    sent: list[Transmission] = []
    bench.air.told.append(sent.append)
    for which in (0, 1):
        bench.write(Reg.IRQ_MASK, Irq.RX_START | Irq.TRX_END, which)
    frame = data()
    bench.go(Command.RX_AACK_ON, 1)
    bench.go(Command.PLL_ON)
    bench.go(Command.TX_ARET_ON)
    bench.load(frame)
    bench.irq[0].clear(), bench.irq[1].clear()
    start = bench.host.now // US
    bench.write(Reg.TRX_STATE, Command.TX_START)
    first = start + 16
    end = first + (6 + len(frame) + 2) * OCTET
    bench.host.wait(first + SHR - start + 1)
    assert bench.state(1) == State.BUSY_RX_AACK and bench.state(0) == State.BUSY_TX_ARET
    bench.host.wait(first + SHR + OCTET + 9 + 1 - bench.host.now / US)
    assert bench.read(Reg.IRQ_STATUS, 1) == Irq.RX_START
    bench.host.wait(20_000)
    assert [t for t, level in bench.irq[1] if level] == [first + SHR + OCTET + 9, end + 9]
    assert [t.start // US for t in sent] == [first, end + 192]
    assert [t for t, level in bench.irq[0] if level] == [end + 192 + 11 * OCTET + 9]


def test_without_acknowledgement_request():
    bench = Bench(2)
    assert exchange(bench, data(ack=False)) == Trac.SUCCESS
    assert bench.radios[1].counts["acknowledged"] == 0 and bench.radios[1].counts["received"] == 1


def test_retries():
    """MAX_FRAME_RETRIES 3: four times on the air, ACK_WAIT 54 symbols each."""
    bench = Bench(2)
    sent: list[Transmission] = []
    bench.air.told.append(sent.append)
    assert exchange(bench, data(to=0x7777), wait=60_000) == Trac.NO_ACK
    assert len(sent) == 4 and len({t.psdu for t in sent}) == 1
    gaps = [(after.start - before.end) / US for before, after in zip(sent, sent[1:])]
    assert all(gap >= 54 * 16 + CCA_TIME + 16 and (gap - 54 * 16 - CCA_TIME - 16) % 320 == 0 for gap in gaps)


def test_channel_access_failure():
    """The channel is never clear: MAX_CSMA_RETRIES 4, five assessments."""
    bench = Bench(2)
    for i in range(40):
        bench.air.send(Transmission(None, "noise", 11, bytes(127), bench.host.now + LEAD + i * 133 * OCTET * US))
    assert exchange(bench, data(), wait=60_000) == Trac.CHANNEL_ACCESS_FAILURE
    assert bench.radios[0].counts["busy"] == 5 and bench.radios[0].counts["sent"] == 0


def test_basic_mode_shows_frames_with_a_wrong_fcs():
    bench = Bench(1)
    bench.go(Command.RX_ON)
    bench.air.send(Transmission(None, "x", 11, data() + b"\0\0", bench.host.now + LEAD))
    bench.host.wait(5000)
    assert bench.read(Reg.IRQ_STATUS) & Irq.TRX_END and not bench.read(Reg.PHY_RSSI) & 0x80
    assert bench.state() == State.RX_ON


@pytest.mark.parametrize("psdu", [data() + b"\0\0", mac.with_fcs(data(to=0x4321)), mac.with_fcs(data(pan=0x99)),
                                  mac.with_fcs(b"\x02\0\x07"), mac.with_fcs(b"\x41"), b"\x07"])
def test_aack_keeps_silent_about_other_frames(psdu):
    bench = Bench(2)
    bench.go(Command.RX_AACK_ON, 1)
    bench.read(Reg.IRQ_STATUS, 1)
    bench.air.send(Transmission(None, "x", 11, psdu, bench.host.now + LEAD))
    bench.host.wait(8000)
    raised = bench.read(Reg.IRQ_STATUS, 1)
    assert not raised & Irq.TRX_END
    assert bool(raised & Irq.AMI) == (psdu[:-2] == data())          # the address is known before the FCS
    assert bench.state(1) == State.RX_AACK_ON and bench.radios[1].counts["acknowledged"] == 0


def test_promiscuous_mode_takes_all():
    bench = Bench(1)
    bench.write(Reg.XAH_CTRL_1, 2)
    bench.go(Command.RX_AACK_ON)
    bench.air.send(Transmission(None, "x", 11, mac.with_fcs(data(to=0x4321)), bench.host.now + LEAD))
    bench.host.wait(5000)
    assert bench.read(Reg.IRQ_STATUS) & Irq.TRX_END and bench.radios[0].counts["acknowledged"] == 0


def test_another_channel_is_not_heard():
    bench = Bench(2)
    bench.write(Reg.PHY_CC_CCA, 0x2C, 1)
    assert exchange(bench, data(), wait=60_000) == Trac.NO_ACK


def test_deaf_while_the_frame_buffer_is_protected():
    """11.8: until it is read, or the state changes."""
    bench = Bench(1)
    bench.write(Reg.TRX_CTRL_2, 0x80)
    bench.go(Command.RX_AACK_ON)
    def air(sequence: int) -> None:
        bench.air.send(Transmission(None, "x", 11, mac.with_fcs(data(to=SHORT, sequence=sequence, ack=False)), bench.host.now + LEAD))
        bench.host.wait(3000)
    air(1)
    air(2)
    assert bench.buffer()[0][2] == 1
    air(3)
    assert bench.buffer()[0][2] == 3


def test_two_at_once_destroy_each_other():
    bench = Bench(1)
    bench.go(Command.RX_AACK_ON)
    for offset in (0, 300):
        bench.air.send(Transmission(None, "x", 11, mac.with_fcs(data(to=SHORT, ack=False)), bench.host.now + LEAD + offset * US))
    bench.host.wait(5000)
    assert bench.radios[0].counts["damaged"] == 1 and bench.radios[0].counts["received"] == 0


def test_leaving_the_receiver_loses_the_frame():
    bench = Bench(1)
    bench.go(Command.RX_AACK_ON)
    bench.air.send(Transmission(None, "x", 11, mac.with_fcs(data(to=SHORT, ack=False)), bench.host.now + LEAD))
    bench.host.wait(400)
    assert bench.state() == State.BUSY_RX_AACK
    bench.go(Command.FORCE_PLL_ON, wait=1)
    bench.go(Command.RX_AACK_ON)
    bench.host.wait(5000)
    assert bench.radios[0].counts["received"] == 0 and bench.radios[0].counts["reception aborted"] == 1


def test_a_command_while_busy_waits_for_the_end():
    bench = Bench(1)
    bench.go(Command.RX_AACK_ON)
    bench.air.send(Transmission(None, "x", 11, mac.with_fcs(data(to=SHORT, ack=False)), bench.host.now + LEAD))
    bench.host.wait(400)
    assert bench.go(Command.PLL_ON) == State.BUSY_RX_AACK
    bench.host.wait(3000)
    assert bench.state() == State.PLL_ON and bench.radios[0].counts["received"] == 1


def test_losses_are_the_seeds():
    def run(seed: int) -> list[int]:
        bench = Bench(2, seed=seed, loss=0.4)
        for i in range(12):
            exchange(bench, data(sequence=i), wait=60_000)
        return [bench.radios[1].counts["received"], bench.radios[0].counts["sent"]]
    assert run(1) == run(1)
    assert run(1)[1] > 12


def test_out_of_reach():
    bench = Bench(2)
    bench.air.links[0, 1] = Link(level=None)
    assert exchange(bench, data(), wait=60_000) == Trac.NO_ACK


def test_cca_by_hand():
    """8.5: 140 us, in RX_ON; the result is in TRX_STATUS."""
    bench = Bench(1)
    bench.go(Command.RX_ON)
    bench.write(Reg.PHY_CC_CCA, bench.read(Reg.PHY_CC_CCA) | 0x80)
    bench.host.wait(CCA_TIME - 1)
    assert not bench.read(Reg.TRX_STATUS) & 0x80
    bench.host.wait(2)
    assert bench.read(Reg.TRX_STATUS) & 0xC0 == 0xC0
    bench.air.send(Transmission(None, "x", 11, bytes(127), bench.host.now + LEAD))
    bench.write(Reg.PHY_CC_CCA, bench.read(Reg.PHY_CC_CCA) | 0x80)
    bench.host.wait(CCA_TIME + 1)
    assert bench.read(Reg.TRX_STATUS) & 0xC0 == 0x80


def test_time_in_states_is_all_time():
    bench = Bench(2)
    exchange(bench, data())
    for radio in bench.radios:
        radio.settle()
        assert sum(radio.spent.values()) == bench.host.now
        assert all(state in CURRENT for state in radio.spent)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.binary(max_size=60))
def test_headers_of_any_octets(frame):
    """Never an exception; what is read of a header lies in the frame."""
    header = mac.Header.of(frame)
    own = mac.Own(PAN, SHORT, LONG, False)
    if header is not None:
        assert header.size <= len(frame)
        mac.takes(header, own)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(sorted(set(range(32)))), st.integers(0, 400)), max_size=25))
def test_any_commands_lead_to_states_of_the_table(commands):
    bench = Bench(1)
    bench.load(data())
    for command, wait in commands:
        bench.write(Reg.TRX_STATE, command)
        bench.host.wait(wait)
        assert bench.radios[0].state in set(State)
    bench.host.wait(100_000)
    assert bench.radios[0].state not in (State.TRANSITION, State.BUSY_TX, State.BUSY_TX_ARET)
