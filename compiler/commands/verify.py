"""`lpnc verify`: does it keep the rules?"""
from __future__ import annotations

import os
import re

import click

from lpn.lang.hooks import name_of
from lpn.lang.limits import MAX_BINARY
from lpn.verifier.descriptors import PROFILES
from lpn.verifier.verify import Analysis, Report
from lpn.verifier.wcet import Step

from .. import femto
from ..forms import Level
from ..judge import Sealed, Unit, Units, analysed
from ..output import Failure, Table, count, put_json, say
from .inputs import Input, asked, compile_options, json_option, on_option, read_bytes, read_input, show_diagnostics, shown
from ..budgets import settle
from ..deadlines import HookTime, Times, times
from .judge import as_json as report_json, compiled_and_sealed, of_input, place, show_rejection, show_uncertified, show_unread, shown_line, source_line

HEX = re.compile(r"(0[xX])?[0-9a-fA-F\s:]*[0-9a-fA-F][0-9a-fA-F\s:]*")


@click.command()
@click.argument("file", required=False)
@click.option("--raw", metavar="BYTES", help="Judge bare bytecode: hex text, or a file (`-`: standard input) of bytes or hex text.")
@click.option("--profile", "--target", "profile", type=click.Choice(sorted(PROFILES)),
              help="The context it will meet. Default: lpn; xdp for an object's section xdp, none for the kernel's other sections.")
@click.option("--record-size", type=click.IntRange(0, 65535), default=0, metavar="N",
              help="With --raw, an object or an image for a stock engine: bytes of header record.")
@click.option("--state-size", type=click.IntRange(0, 65535), default=0, metavar="N",
              help="With --raw, an object or an image for a stock engine: bytes of state.")
@click.option("--rodata-size", type=click.IntRange(0, 1 << 20), default=0, metavar="N", help="With --raw: bytes of read-only data.")
@click.option("--data-size", type=click.IntRange(0, 1 << 20), default=0, metavar="N", help="With --raw: bytes of data.")
@on_option
@click.option("--tight", is_flag=True, help="Follow each chain as a whole, for a bound that is nearer to its worst run; it takes some seconds. "
              "A chain that would miss its deadline is followed in any case.")
@click.option("--path", "show_path", is_flag=True, help="Show each module's longest path, by source line; with --tight that of each chain, too.")
@compile_options
@json_option
def command(file: str | None, raw: str | None, profile: str | None, record_size: int, state_size: int, rodata_size: int,
            data_size: int, way: str, tight: bool, show_path: bool, fuse: bool, without: tuple[str, ...], level: Level, as_json: bool) -> int:
    """Prove that the containers of FILE keep the rules: a source (.lpn), a
    bundle (.lpnb), an image (.lpnc, .rbpf) or an eBPF object (.o).

    \b
      lpnc verify examples/udp/udp.lpn
      lpnc verify build/udp/udp.lpnb --json
      lpnc verify --raw "b7 00 00 00 00 00 00 00 95 00 00 00 00 00 00 00" --profile xdp

    Lines of a bundle or image come from the source map beside it. With --json,
    one object per module: name, accepted, rule, message, file, line, insn, example
    (what could happen), help, path (to there: insn and line of each), stack, insns, max_insns, wcet_cycles (null: not known), certificate_bytes, uncertified
    (why there is none; null), loops, together (heads of loops that share the
    packet's octets), clean32, hooks (the chains it belongs to: event, selector,
    chain, within_us, wcet_cycles, wcet_us, met, wait_us: how long others may hold
    it up, null where that has no bound), note (what the target leaves out, and what
    is not fused, or not at the level asked for, as it would not fit, be refused or
    have no certificate; null).
    Exit status 1 when a module is rejected or cannot be read, a hook may miss its
    deadline, or the radio may be on for longer than promised.
    """
    if (file is None) == (raw is None):
        raise click.UsageError("one of FILE and --raw is needed", click.get_current_context())
    found: list[tuple[Unit, Report, Analysis | None]] = []
    done: Sealed | None = None
    if raw is not None:
        if asked("--fuse", "--without", "-O"):
            raise click.UsageError("--fuse, --without and -O need a program's source, and --raw is bytecode")
        units = Units([Unit("raw", raw_bytes(raw), profile or "lpn", rodata=rodata_size, data=data_size, record_size=record_size,
                            state_size=state_size, foreign=True)], {})
    elif (given := sized(read_input(str(file)))).kind == "source":
        timed_at_all({profile or "lpn"})
        done = compiled_and_sealed(given.program(without), profile or "lpn", fuse, level)
        units, found = done.units, done.found
    else:
        units = of_input(given, profile, fuse, without, level, {"record_size": record_size, "state_size": state_size}, known=True)
    timed_at_all({unit.profile for unit in units.items})
    found = found or analysed(units)
    timed = times(units, found, way, tight)
    unkept = settle(done.compiled, timed).items if done is not None and done.compiled.target.name == "lpn" else []
    judgements = [(unit, report) for unit, report, _ in found]
    rejected = [(unit, report) for unit, report in judgements if not report.accepted]
    wrong = bool(rejected or timed.violations or unkept or units.unread)
    if as_json:
        for unit, report in judgements:
            put_json(report_json(unit, report) | {"hooks": [hook_json(each) for each in timed.hooks if unit.name in each.hook.chain]})
        for one in unkept:
            say(str(one), err=True)
        show_unread(units)
        return int(wrong)
    table = Table(["module", "verdict", ">instructions", ">executed at most", ">stack", ">worst-case time", ">certificate", "32-bit clean"])
    for unit, report in judgements:
        cycles = "not known" if report.wcet_cycles is None else f"{report.wcet_cycles:,} cycles"
        if report.accepted:
            table.add(unit.name, "accepted", report.insns, report.max_insns, report.stack, cycles, len(unit.certificate),
                      "yes" if report.clean32 else "no")
        else:
            table.add(unit.name, f"rejected: rule {report.rule}", report.insns or None, None, None, None, None, None, style="red")
    table.show()
    for unit, report in rejected:
        show_rejection(report, unit.name, units.sources)
    show_uncertified(units)
    for name, why in timed.unknown.items():
        unit = next(unit for unit in units.items if unit.name == name)
        say(f"{name}: its worst-case time is not known: {why}{shown_line(why.slot, unit, units)}")
    show_hooks(timed)
    if show_path:
        show_paths(timed, units)
    for text in timed.warnings:
        say(text, style="yellow")
    for each in timed.violations:
        show_late(each, timed, units)
    if unkept:
        show_diagnostics(unkept, err=False)
    show_unread(units)
    say(f"{count(len(judgements), 'module')}: {f'{len(rejected)} rejected' if rejected else 'all accepted'}"
        + (f", {count(len(timed.violations), 'deadline')} not proved" if timed.violations else "")
        + (f", {count(len(unkept), 'energy budget')} not proved" if unkept else "")
        + (f", {len(units.unread)} not read" if units.unread else ""), style="red" if wrong else "green")
    return int(wrong)


def timed_at_all(profiles: set[str]) -> None:
    """Refuses options of worst-case times where there are none."""
    if profiles and "lpn" not in profiles and (idle := asked("--on", "--tight")):
        raise click.UsageError(f"{' and '.join(idle)} {'is' if len(idle) == 1 else 'are'} about worst-case times, and for profile {' and '.join(sorted(profiles))} "
                               "none are computed", click.get_current_context())


def sized(given: Input) -> Input:
    """Refuses sizes that the input itself says. Raises Failure."""
    outside = given.kind == "object" or femto.begins(given.data)
    if idle := asked("--rodata-size", "--data-size", *(() if outside else ("--record-size", "--state-size"))):
        raise Failure(f"{shown(given.path)}: {' and '.join(idle)} would say what this {given.kind} says itself")
    return given


def hook_json(each: HookTime) -> dict:
    most = each.cost.most if each.cost else None
    return {"event": each.hook.event, "selector": list(each.hook.selector), "chain": list(each.hook.chain), "within_us": each.hook.within or None,
            "wcet_cycles": most, "wcet_us": None if most is None else round(each.us(most), 1), "met": each.met,
            "wait_us": None if each.wait is None else round(each.wait.us, 1)}


def show_hooks(timed: Times) -> None:
    """Each hook's worst case at the node's clock, beside its deadline."""
    known = [each for each in timed.hooks if each.cost]
    if not known:
        return
    say()
    table = Table(["hook", "chain", ">worst case", f">at {timed.mhz} MHz", ">deadline", ">slack", ">waits at most"])
    for each in known:
        assert each.cost is not None
        us = each.us(each.cost.most)
        table.add(name_of(each.hook), " -> ".join(each.hook.chain), f"{each.cost.most:,} cycles", f"{us:,.0f} us",
                  f"{each.hook.within:,} us" if each.hook.within else None,
                  f"{each.hook.within - us:,.0f} us" if each.hook.within else None,
                  None if each.wait is None else f"{each.wait.us:,.0f} us", style="red" if each.violation() else "yellow" if each.tardy else "")
    table.show()


def show_paths(timed: Times, units: Units) -> None:
    for name, time in timed.modules.items():
        print_path(name, "longest path", time.path, units)
    for each in timed.hooks:
        for name, (steps, _) in each.followed.items():
            print_path(name, f"on the longest path of {each.name}", steps, units)


def print_path(name: str, what: str, steps: list[Step], units: Units) -> None:
    say()
    table = Table([f"{name}: {what}", ">cycles", ">instructions", "source"])
    for step in steps:
        table.add(*place(step.line), f"{step.cycles:,}", step.insns, source_line(step.line, units))
    table.show()


def show_late(each: HookTime, timed: Times, units: Units) -> None:
    """The deadline that is missed, and the lines that take most of the longest path."""
    say(each.violation(), style="red")
    for name, step in timed.longest(each):
        say(f"  {step.cycles:>9,} cycles  {place(step.line)[0] or name}  {source_line(step.line, units)}")
    if each.cost is not None:
        say(f"  help: {each.remedy}", style="dim")


def raw_bytes(given: str) -> bytes:
    """Bytes given as hex text, as a file, or on standard input. Raises Failure."""
    if given == "-" or given and os.path.exists(given):
        data = read_bytes(given, MAX_BINARY)
        try:
            text = data.decode("ascii")
        except UnicodeDecodeError:
            return data
        return from_hex(text) if HEX.fullmatch(text.strip()) else data
    if not given.strip():
        return b""
    if not HEX.fullmatch(given.strip()):
        raise Failure(f"--raw: {given[:40]!r} is neither a file nor hex text")
    return from_hex(given)


def from_hex(text: str) -> bytes:
    digits = re.sub(r"[\s:]", "", text.strip().removeprefix("0x").removeprefix("0X"))
    if len(digits) % 2:
        raise Failure(f"--raw: {len(digits)} hex digits are no whole bytes")
    return bytes.fromhex(digits)
