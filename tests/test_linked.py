"""The linked form of a bundle: it is the set that a node makes of the pack."""
from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cli import lpnc
from programs import ROOT, example

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Bundle, BundleError, Extern
from lpn.compiler.judge import sealed
from lpn.lang import tables
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.runtime.engine.build import HERE, SOURCES, cache_dir, compile_to, compiler, digest
from lpn.runtime.linked import linked, needs
from lpn.runtime.pack import pack

ENGINE = [HERE / name for name in SOURCES if not name.endswith("host.c")]
FLAGS = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing", f"-I{HERE}")


@pytest.fixture(scope="module")
def engine() -> list[str]:
    """Objects of the engine."""
    cc, out = compiler(), []
    for source in ENGINE:
        target = cache_dir() / f"lpn-linked-{source.stem}-{digest(cc, *FLAGS, *HERE.glob('*.h'), source)}.o"
        if not target.exists():
            compile_to(target, [cc, *FLAGS, "-c", str(source)])
        out.append(str(target))
    return out


@pytest.mark.parametrize("name,given", [("forwarding/forwarding", "tables.json"), ("fragment/reassemble", None), ("duty/duty", None),
                                        ("tsch_slot/tsch_slot", None)])
def test_a_linked_set_is_the_one_of_the_pack(name, given, engine, tmp_path):
    program = example(name)
    made = compile_program(program, "lpn", False, 2)
    first = tables.load((ROOT / "examples" / name).parent / given, program) if given else None
    state, entries = made.initial_state(first), made.entries(first)
    source, packed, binary = tmp_path / "set.c", tmp_path / "set.lpnn", tmp_path / "same"
    source.write_text(linked(made.bundle, state=state, entries=entries))
    packed.write_bytes(pack(made.bundle, state=state, entries=entries, code=True))
    buffers = made.bundle.buffers
    built = subprocess.run([compiler(), *FLAGS, f'-DLINKED_FILE="{source}"', f"-DHAS_BUFFERS={int(bool(buffers))}",
                            f"-DBUFFER_BYTES={', '.join(str(b.memory_bytes) for b in buffers)}", str(Path(__file__).parent / "linked_same.c"), *engine,
                            "-o", str(binary)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(binary), str(packed)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_what_a_set_needs_is_not_left_out(tmp_path):
    """The file does not compile with an option that it says it cannot have."""
    made = compile_program(example("forwarding/forwarding"), "lpn", False, 2)
    assert needs(made.bundle).left_out == {"LPN_CODE_ONLY": 1, "LPN_CLEAN32_ONLY": 0, "LPN_NO_TABLES": 0, "LPN_NO_BUFFERS": 1, "LPN_ONE_SET": 1}
    source = tmp_path / "set.c"
    source.write_text(linked(made.bundle))

    def said(*options: str) -> str:
        return subprocess.run([compiler(), *FLAGS, *options, "-fsyntax-only", str(source)], capture_output=True, text=True, check=False).stderr
    assert said("-DLPN_CODE_ONLY=1", "-DLPN_NO_BUFFERS=1") == ""
    assert "this set needs what LPN_NO_TABLES leaves out" in said("-DLPN_NO_TABLES=1")


def test_what_cannot_be_linked_is_named():
    made = compile_program(example("duty/duty"), "lpn", False, 2)
    with pytest.raises(BundleError, match="function led"):
        linked(replace(made.bundle, externs=(Extern("led", (8,), 0, 10, ("radio",)),)))
    with pytest.raises(BundleError, match="nothing would ever run"):
        linked(replace(made.bundle, hooks=()))


def test_the_command_says_what_may_be_left_out(tmp_path):
    out = tmp_path / "duty.c"
    done = lpnc("pack", "examples/duty/duty.lpn", "--linked", "-o", str(out))
    assert done.exit_code == 0 and "-DLPN_CODE_ONLY=1 -DLPN_CLEAN32_ONLY=1 -DLPN_NO_TABLES=1 -DLPN_NO_BUFFERS=1" in done.output
    assert "lpn_packed lpn_linked = {" in out.read_text()
    assert lpnc("pack", "examples/duty/duty.lpn", "--linked", "--compact").exit_code == 2


@pytest.mark.parametrize("one", [0, 1])
def test_one_set_begins_ends_and_begins_anew(one, tmp_path):
    """Whether what goes on from set to set is in the firmware or not. No container of it runs here: its code is the node's."""
    source, binary = tmp_path / "set.c", tmp_path / "one"
    source.write_text(linked(compile_program(example("duty/duty"), "lpn", False, 2).bundle))
    built = subprocess.run([compiler(), *FLAGS, f"-DLPN_ONE_SET={one}", f'-DLINKED_FILE="{source}"', str(Path(__file__).parent / "one_set.c"),
                            *map(str, ENGINE), "-o", str(binary)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def translated(engine, tmp_path):
    """Names of the containers of a bundle that become code; `fuel`: certified ones, where a run has so many instructions."""
    packed, binary = tmp_path / "set.lpnn", tmp_path / "translated"
    built = subprocess.run([compiler(), *FLAGS, str(Path(__file__).parent / "translated.c"), *engine, "-o", str(binary)],
                           capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr

    def names(bundle: Bundle, *fuel: int) -> list[str]:
        packed.write_bytes(pack(bundle))
        done = subprocess.run([str(binary), str(packed), *map(str, fuel)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return done.stdout.split()
    return names


def test_a_migration_is_not_translated(translated):
    """It runs once, in the interpreter, which on a core without 64-bit registers goes by a plan: code has none."""
    made = compile_program(check(load(Source("x.lpn", """
        processor P() { persistent register<bit<32>> n; migrate version 1 { n = 7; } apply { n = n + 1; } }
        protocol X version 2 { on radio.rx_done : P; }"""))), "lpn", False, 2)
    assert [m.kind.name for m in made.bundle.modules] == ["PROCESSOR", "MIGRATION"]
    assert translated(made.bundle) == ["P"]


def most_of(certificate: bytes) -> int:
    """The first number behind a certificate's version: the most instructions of a run."""
    last = next(i for i, octet in enumerate(certificate) if i > 0 and octet < 128)
    return sum((octet & 127) << 7 * i for i, octet in enumerate(certificate[1:last + 1]))


def test_what_may_take_more_instructions_than_a_run_has_is_not_translated(translated):
    """Code counts none; the interpreter ends the run where its budget does."""
    made = compile_program(example("duty/duty"), "lpn", False, 2)
    sealed(made)
    bundle = made.bundle
    names, costs = [m.name for m in bundle.modules], {m.name: most_of(m.certificate) for m in bundle.modules}
    assert translated(bundle, 10**6) == names and translated(bundle, 0) == []
    for most in costs.values():
        assert translated(bundle, most) == [name for name in names if costs[name] <= most]
