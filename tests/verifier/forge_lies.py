"""Lies in each field of a certificate, by someone who knows the format; and bytes torn from it."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lpn.verifier.certificate import LENGTH, LOW, M32, NUMBER, PKT, STACK, Certificate, Given, Label


def values_changed(g: Given) -> Iterator[tuple[str, Given]]:
    """A value that says more than is so, or something else."""
    if g.ref:
        yield "another constant", g._replace(off=g.off + 1)
        yield "another symbol", g._replace(ref=LENGTH if g.ref != LENGTH else 2)
        yield "a symbol that is not there", g._replace(ref=g.ref + 1)
        yield "the zero symbol", g._replace(ref=200)
    else:
        if g.lo < g.hi:
            yield "lowest raised", g._replace(lo=g.lo + 1)
            yield "highest lowered", g._replace(hi=g.hi - 1)
            yield "a constant", g._replace(hi=g.lo)
            yield "more room", g._replace(room=(-100 if g.room is None else g.room) + 1)
        yield "elsewhere", g._replace(lo=g.lo + 1, hi=min(g.hi + 1, M32))
        yield "shared with nobody", Given(g.kind, ref=2)
    yield "another kind", g._replace(kind=PKT if g.kind == NUMBER else NUMBER, room=None)
    yield "half a pointer", g._replace(kind=LOW)
    yield "a kind that is none", g._replace(kind=15)
    yield "no kind", g._replace(kind=0)


def lies(c: Certificate) -> Iterator[tuple[str, bytes]]:
    def made(**changes) -> bytes:
        return replace(c, **changes).to_bytes()

    def with_label(i: int, label: Label) -> bytes:
        return made(labels=[*c.labels[:i], label, *c.labels[i + 1:]])

    yield "cost lowered", made(cost=c.cost - 1)
    yield "cost beyond all", made(cost=1 << 29)
    yield "no cost", made(cost=0)
    if c.shared > 2:
        yield "fewer shared", made(shared=c.shared - 1)
    yield "more shared than there can be", made(shared=256)
    yield "no shared", made(shared=1)
    yield "memory beyond all", made(shared=255)
    for i, label in enumerate(c.labels):
        at = f"label {i}"
        yield f"{at} dropped", made(labels=[*c.labels[:i], *c.labels[i + 1:]])
        yield f"{at} twice", made(labels=[*c.labels[:i + 1], label, *c.labels[i + 1:]])
        yield f"{at} moved on", with_label(i, replace(label, pc=label.pc + 1))
        yield f"{at} far", with_label(i, replace(label, pc=60000))
        if i:
            yield f"{at} before the last", made(labels=[*c.labels[:i - 1], label, c.labels[i - 1], *c.labels[i + 1:]]) \
                if c.labels[i - 1].pc == label.pc else b"\1"
        yield f"{at} costs less", with_label(i, replace(label, cost=label.cost - 1))
        yield f"{at} costs beyond all", with_label(i, replace(label, cost=1 << 29))
        yield f"{at} costs more", with_label(i, replace(label, cost=label.cost + 200))
        yield f"{at} with a longer packet", with_label(i, replace(label, length=label.length + 1))
        yield f"{at} with a packet beyond all", with_label(i, replace(label, length=2049))
        yield f"{at} with another loop", with_label(i, replace(label, loop=label.loop - 1 if label.loop else 1))
        yield f"{at} with a loop more", with_label(i, replace(label, loop=label.loop + 1))
        for r in range(10):
            if r not in label.regs:
                for g in (Given(NUMBER, 0, M32), Given(PKT), Given(STACK, 512, 512)):
                    yield f"{at}: r{r} is there", with_label(i, replace(label, regs=label.regs | {r: g}))
            else:
                yield f"{at}: r{r} is gone", with_label(i, replace(label, regs={k: v for k, v in label.regs.items() if k != r}))
                for lie, g in values_changed(label.regs[r]):
                    yield f"{at}: r{r} {lie}", with_label(i, replace(label, regs=label.regs | {r: g}))
        for place in (*label.slots, 16, 29, 28, 26, 30, 1, 31, 32, 33, 255):
            if place in label.slots:
                yield f"{at}: slot {place} gone", with_label(i, replace(label, slots={k: v for k, v in label.slots.items() if k != place}))
                for lie, g in values_changed(label.slots[place]):
                    yield f"{at}: slot {place} {lie}", with_label(i, replace(label, slots=label.slots | {place: g}))
            else:
                yield f"{at}: slot {place} is there", with_label(i, replace(label, slots=label.slots | {place: Given(PKT)}))
        for byte in (0, 1, 30, 55, 56, 63, 64, 65, 100):
            if byte not in label.written:
                yield f"{at}: byte {byte} is written", with_label(i, replace(label, written=label.written | {byte}))
        if label.written:
            yield f"{at}: nothing is written", with_label(i, replace(label, written=frozenset()))
        for k, g in enumerate(label.shared):
            for lie, g2 in values_changed(g):
                yield f"{at}: symbol {k} {lie}", with_label(i, replace(label, shared=[*label.shared[:k], g2, *label.shared[k + 1:]]))
            yield f"{at}: symbol {k} gone", with_label(i, replace(label, shared=[*label.shared[:k], *label.shared[k + 1:]]))
        if label.shared:
            yield f"{at}: symbols too many", with_label(i, replace(label, shared=label.shared * 30))
    for i, row in enumerate(c.loops):
        for lie, changed in (("body lowered", replace(row, body=row.body - 1)), ("no step", replace(row, step=0)),
                             ("a larger step", replace(row, step=2 * row.step)), ("the other way", replace(row, step=-row.step)),
                             ("step by one more", replace(row, step=row.step + (1 if row.step > 0 else -1))),
                             ("its own parent", replace(row, parent=i + 1)), ("another parent", replace(row, parent=0 if row.parent else 1)),
                             ("no unit", replace(row, unit=0)), ("a larger unit", replace(row, unit=2 * row.unit)),
                             ("a unit of one more", replace(row, unit=row.unit + 1)), ("a unit of 1", replace(row, unit=1)),
                             ("another head", replace(row, head=row.head + 1)), ("body beyond all", replace(row, body=1 << 29)),
                             ("a head that is none", replace(row, head=0xFFFF))):
            yield f"loop {i}: {lie}", made(loops=[*c.loops[:i], changed, *c.loops[i + 1:]])
        yield f"loop {i} gone", made(loops=[*c.loops[:i], *c.loops[i + 1:]])


def torn(raw: bytes) -> Iterator[tuple[str, bytes]]:
    """What has nothing to do with its meaning."""
    yield "nothing", b""
    for n in range(1, len(raw)):
        yield f"cut to {n}", raw[:n]
    yield "another version", bytes([2]) + raw[1:]
    yield "varint without end", raw[:1] + b"\xff" * 8 + raw[2:]
    yield "varint of 35 bits", raw[:1] + b"\xff\xff\xff\xff\x7f" + raw[2:]
    for at in range(len(raw)):
        for bit in range(8):
            changed = bytearray(raw)
            changed[at] ^= 1 << bit
            yield f"byte {at} bit {bit}", bytes(changed)
