"""`lpnc verify`: does it keep the rules?"""
from __future__ import annotations

import os
import re

import click

from lpn.verifier.descriptors import PROFILES

from ..output import Failure, Table, count, put_json, say
from .inputs import compile_options, json_option, read_bytes, read_input
from .judge import Unit, Units, as_json as report_json, judged, of_input, show_rejection

HEX = re.compile(r"(0[xX])?[0-9a-fA-F\s:]*[0-9a-fA-F][0-9a-fA-F\s:]*")


@click.command()
@click.argument("file", required=False)
@click.option("--raw", metavar="BYTES", help="Judge bare bytecode: hex text, or a file (`-`: standard input) of bytes or hex text.")
@click.option("--profile", "--target", "profile", type=click.Choice(sorted(PROFILES)),
              help="The context it will meet. Default: lpn; xdp for an object's section xdp.")
@click.option("--record-size", type=click.IntRange(0, 65535), default=0, metavar="N", help="With --raw or an object: bytes of header record.")
@click.option("--state-size", type=click.IntRange(0, 65535), default=0, metavar="N", help="With --raw or an object: bytes of state.")
@click.option("--rodata-size", type=click.IntRange(0, 1 << 20), default=0, metavar="N", help="With --raw: bytes of read-only data.")
@click.option("--data-size", type=click.IntRange(0, 1 << 20), default=0, metavar="N", help="With --raw: bytes of data.")
@compile_options
@json_option
def command(file: str | None, raw: str | None, profile: str | None, record_size: int, state_size: int, rodata_size: int,
            data_size: int, fuse: bool, without: tuple[str, ...], level: int, as_json: bool) -> int:
    """Prove that the containers of FILE keep the rules: a source (.lpn), a
    bundle (.lpnb), an image (.lpnc) or an eBPF object (.o).

    \b
      lpnc verify examples/udp/udp.lpn
      lpnc verify build/udp/udp.lpnb --json
      lpnc verify --raw "b7 00 00 00 00 00 00 00 95 00 00 00 00 00 00 00" --profile xdp

    Lines of a bundle or image come from the source map beside it. With --json,
    one object per module: name, accepted, rule, message, file, line, insn, stack,
    insns, max_insns, wcet_cycles (null: not computed yet), certificate_bytes,
    loops, clean32. Exit status 1 when a module is rejected.
    """
    if (file is None) == (raw is None):
        raise click.UsageError("one of FILE and --raw is needed", click.get_current_context())
    if raw is not None:
        units = Units([Unit("raw", raw_bytes(raw), profile or "lpn", rodata=rodata_size, data=data_size, record_size=record_size,
                            state_size=state_size)], {})
    else:
        units = of_input(read_input(str(file)), profile, fuse, without, level,
                         {"record_size": record_size, "state_size": state_size})
    judgements = judged(units)
    rejected = [(unit, report) for unit, report in judgements if not report.accepted]
    if as_json:
        for unit, report in judgements:
            put_json(report_json(unit, report))
        return int(bool(rejected))
    table = Table(["module", "verdict", ">instructions", ">executed at most", ">stack", ">worst-case time", ">certificate", "32-bit clean"])
    for unit, report in judgements:
        cycles = "not computed yet" if report.wcet_cycles is None else f"{report.wcet_cycles:,} cycles"
        if report.accepted:
            table.add(unit.name, "accepted", report.insns, report.max_insns, report.stack, cycles, unit.certificate,
                      "yes" if report.clean32 else "no")
        else:
            table.add(unit.name, f"rejected: rule {report.rule}", report.insns or None, None, None, None, None, None, style="red")
    table.show()
    for unit, report in rejected:
        show_rejection(report, unit.name, units.sources)
    say(f"{count(len(judgements), 'module')}: {f'{len(rejected)} rejected' if rejected else 'all accepted'}",
        style="red" if rejected else "green")
    return int(bool(rejected))


def raw_bytes(given: str) -> bytes:
    """Bytes given as hex text, as a file, or on standard input. Raises Failure."""
    if given == "-" or given and os.path.exists(given):
        data = read_bytes(given)
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
