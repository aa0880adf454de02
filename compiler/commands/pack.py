"""`lpnc pack`: from a program or a bundle to what a node is given."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from lpn.runtime.linked import linked, needs
from lpn.runtime.load import INSN_NS, LOAD_US, SHARE, limit, loads, refused as too_much
from lpn.runtime.pack import expanded_size, pack
from lpn.runtime.variants import TRANSLATED

from ..bundle import Bundle, BundleError
from ..forms import Level
from ..image import Flag, Image
from ..judge import analysed
from ..output import STDOUT, Failure, check_target, count, percent, put_json, say, write_files
from .build import missed, refused
from .inputs import STDIN, compile_options, json_option, need_source, on_option, read_input, shown, tables_of, warnings
from .judge import compiled_and_sealed, of_input

#: Hex digits in a line for the shell of a node, whose lines have 128 characters.
LINE = 96


@click.command()
@click.argument("file")
@click.option("-o", "out", metavar="PATH", help="The file to write; `-`: standard output. Default: FILE with suffix .lpnn.")
@click.option("--tables", metavar="T.json", help="Table entries and registers to begin with (needs the source; `-`: standard input).")
@click.option("--hex", "as_hex", type=click.IntRange(0, 15), metavar="SLOT", help="Write the shell commands that load it into that slot.")
@click.option("--compact", is_flag=True, help="The compact form, about half the size: the node expands it.")
@click.option("--trusted", is_flag=True, help="Leave certificates out: for a firmware that trusts the pack in it.")
@click.option("--code", is_flag=True, help="Thumb-2 code in place of bytecode: for a firmware on ARMv7-M that trusts the pack in it.")
@click.option("--linked", "as_c", is_flag=True, help="C source of the set as it is in memory, with Thumb-2 code: for a firmware that has this program alone.")
@on_option
@compile_options
@json_option
def command(file: str, out: str | None, tables: str | None, as_hex: int | None, compact: bool, trusted: bool, code: bool, as_c: bool,
            way: str, fuse: bool, without: tuple[str, ...], level: Level, as_json: bool) -> int:
    """Write a program in the form that nodes take.

    \b
      lpnc pack examples/udp/udp.lpn -o build/udp.lpnn
      lpnc pack examples/forwarding/forwarding.lpn --tables examples/forwarding/tables.json -o build/forwarding.lpnn
      lpnc pack build/udp/udp.lpnb --hex 0 -o -

    FILE is a program (.lpn) or a bundle (.lpnb); both are verified. The result
    goes to a node's slot: over CoAP as it is, to its shell with --hex. With --json:
    file, bytes, modules, hooks, expanded (bytes of the slot that it needs, more than
    it has where it is compact), and with --linked left_out in its place. Nothing is
    written when the verifier refuses a container, a hook may miss its deadline, or
    the radio may be on for longer than promised, on a node that translates
    (TRANSLATE); of one that interprets, --on m3.
    """
    if code and compact:
        raise click.UsageError("--code and --compact exclude each other: code stays in flash, where nothing is expanded")
    if as_c and (code or compact or as_hex is not None):
        raise click.UsageError("--linked is C source with code in it: --code, --compact and --hex are for packs")
    if (code or as_c) and way != TRANSLATED:
        raise click.UsageError(f"{'--code' if code else '--linked'} is Thumb-2 code: --on {way} is about packs whose containers are interpreted")
    if as_json and (out == STDOUT or out is None and file == STDIN):
        raise click.UsageError("-o - leaves no room for --json on standard output")
    check_target(out, ("program", file), ("tables file", tables), makes_folder=True)
    given = read_input(file)
    if given.kind == "bundle":
        need_source(file, "--tables")
        units = of_input(given, "lpn")
        assert units.bundle is not None
        if refused(found := analysed(units), units.sources) or missed(units, found, way):
            return 1
        bundle, state, entries = units.bundle, None, None
    elif given.kind == "source":
        program = given.program(without)
        warnings(program)
        first = tables_of(tables, program, program=file)
        done = compiled_and_sealed(program, "lpn", fuse, level)
        result = done.compiled
        if refused(done.found, done.units.sources) or missed(done.units, done.found, way, result):
            return 1
        bundle, state, entries = result.bundle, result.initial_state(first), result.entries(first)
    else:
        raise Failure(f"{shown(file)}: an {given.kind} alone is no program: give the bundle (.lpnb) or the source (.lpn)")
    if trusted:
        bundle = replace(bundle, modules=tuple(uncertified(image) for image in bundle.modules))
    try:
        data = linked(bundle, state=state, entries=entries).encode() if as_c else pack(bundle, state=state, entries=entries, small=compact, code=code)
    except BundleError as e:
        raise Failure(f"{shown(file)}: {e}", 1) from None
    suffix = ".c" if as_c else ".lpnn" if as_hex is None else ".hex"
    if not (trusted or code or as_c) and (at := too_much(bundle, limit())) is not None:
        say(f"note: {crowded(bundle, at)}", err=True)
    target = Path(out) if out is not None else Path(STDOUT if file == STDIN else Path(file).with_suffix(suffix))
    write_files({target: data if as_hex is None else shell_lines(data, as_hex)})
    if str(target) != STDOUT:
        facts = {"file": str(target), "bytes": len(data), "modules": len(bundle.modules), "hooks": len(bundle.hooks)}
        if not as_c:
            facts["expanded"] = expanded_size(data)
        left_out = needs(bundle).left_out if as_c else {}
        if as_json:
            put_json(facts | ({"left_out": left_out} if as_c else {}))
        else:
            room = f" ({facts['expanded']:,} where the node has expanded it)" if compact else ""
            say(f"wrote {target}: {len(data):,} bytes{room}, {count(len(bundle.modules), 'module')}, {count(len(bundle.hooks), 'hook')}")
            if left_out:
                say("the firmware may be compiled with " + " ".join(f"-D{option}=1" for option, may in left_out.items() if may))
    return 0


def uncertified(image: Image) -> Image:
    """The image without its certificate."""
    return replace(image, certificate=b"", flags=image.flags & ~Flag.CERTIFIED)


def crowded(bundle: Bundle, at: int) -> str:
    """Why a node refuses it that is as it comes."""
    name, taken = bundle.hooks[at].chain[0], loads(bundle)
    bare = ", what has no certificate as long as a run may be" * any(not bundle.module(bundle.hooks[i].chain[0]).certificate for i in taken)
    return (f"{name}: with it, every and slot may take {percent(sum(taken.values()) * INSN_NS / LOAD_US / 10)} of a node's time{bare}; a node that is built "
            f"without CONFIG_LPN_CLOCK_SHARE gives them {SHARE} %, and refuses the pack (hook {at}): let periods be longer, or handlers do less")


def shell_lines(data: bytes, slot: int) -> bytes:
    """What to type into the shell of a node."""
    digits = data.hex()
    lines = [f"lpn load {slot} begin {len(data)}"]
    lines += [f"lpn load {slot} {digits[at:at + LINE]}" for at in range(0, len(digits), LINE)]
    return "\n".join([*lines, f"lpn load {slot} end", ""]).encode()
