"""What LLVM has made is taken again where the same is asked for, and nowhere else."""
from __future__ import annotations

from pathlib import Path

import pytest
from cli import TAG
from programs import program

from lpn.compiler import bytecode
from lpn.compiler.build import compile_program


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """What LLVM is asked for; in the beginning nothing is kept."""
    asked, make = [], bytecode.make
    monkeypatch.setattr(bytecode, "make", lambda *args: asked.append(args) or make(*args))
    monkeypatch.delenv(bytecode.FOLDER, raising=False)
    bytecode.forget()
    return asked


def compiled(text: str = TAG, **how) -> list[tuple]:
    return [(c.stored, c.ir, c.object, c.code.lines) for c in compile_program(program(text), **how).containers]


def test_a_process_makes_each_once(made, monkeypatch):
    first = compiled()
    assert len(made) == 4 and compiled() == first and len(made) == 4
    bytecode.forget()
    assert compiled() == first and len(made) == 8
    monkeypatch.setattr(bytecode, "KEPT", 5)    # and keeps the last ones
    other = TAG.replace("!= 0", "!= 7")
    assert compiled(other)[1:] == first[1:] and len(made) == 9
    assert compiled(other.replace("== 1", "== 7"))[0] != first[0] and len(made) == 10 and len(bytecode._kept) == 5
    assert compiled() == first and len(made) == 12


def test_what_is_kept_is_nobodys_to_change(made):
    first = compile_program(program(TAG)).containers[0].code
    lines = list(first.lines)
    first.text, first.lines[:] = b"", []
    again = compile_program(program(TAG)).containers[0].code
    assert again.text and again.lines == lines and len(made) == 4


@pytest.mark.parametrize("how", [{"target": "femto"}, {"level": 0}, {"level": 1}, {"fuse": True}, {"listings": False}], ids=str)
def test_what_is_asked_for_otherwise_is_made_otherwise(made, how):
    compiled()
    before = len(made)
    other = compiled(**how)
    assert len(made) > before
    bytecode.forget()
    assert compiled(**how) == other


def test_a_program_that_differs_is_another_one(made):
    first = compiled()
    other = compiled(TAG.replace("h.tag.kind != 0", "h.tag.kind != 9"))
    assert other[0] != first[0] and len(made) > 4


def test_processes_share_a_folder(made, monkeypatch, tmp_path):
    monkeypatch.setenv(bytecode.FOLDER, str(tmp_path))
    first = compiled()
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(made) == len(files) == 4
    bytecode.forget()                           # as another process
    assert compiled() == first and len(made) == 4
    for path, damage in zip(files, (b"", b"x", files[2].read_bytes()[:-9], bytes(100))):
        path.write_bytes(damage)
    bytecode.forget()
    assert compiled() == first and len(made) == 8 and compiled() == first
    monkeypatch.setenv(bytecode.FOLDER, str(files[0]))          # no folder at all
    bytecode.forget()
    assert compiled() == first and len(made) == 12


def test_another_compiler_takes_nothing_of_it(made, monkeypatch, tmp_path):
    monkeypatch.setenv(bytecode.FOLDER, str(tmp_path))
    first, this = compiled(), bytecode.compiler()
    monkeypatch.setattr(bytecode, "compiler", lambda: "other")
    bytecode.forget()
    assert compiled() == first and len(made) == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([this, "other"])
    bytecode.drop_others(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_each_file_of_the_compiler_counts(monkeypatch, tmp_path):
    """What is kept is called after the compiler, too: a file changed, or one more, is another compiler."""
    def name() -> str:
        monkeypatch.setattr(bytecode, "__file__", str(tmp_path / "bytecode.py"))
        return bytecode.compiler.__wrapped__()

    folder = Path(bytecode.__file__).parent
    (tmp_path / "passes").mkdir()
    for source in [*folder.glob("*.py"), *folder.glob("passes/*.py")]:
        (tmp_path / source.relative_to(folder)).write_bytes(source.read_bytes())
    names = [name()]
    for change in ("passes/peephole.py", "llvm.py", "more.py"):
        with (tmp_path / change).open("a") as file:
            file.write("\n")
        names.append(name())
    assert len(set(names)) == 4
