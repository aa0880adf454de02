"""What LLVM would end the process for is refused before."""
from __future__ import annotations

import llvmlite.binding as llvm
import pytest
from programs import example

from lpn.compiler import build
from lpn.compiler.elf import read_object
from lpn.compiler.llvm import emit_object, slots, target_machine
from lpn.compiler.target import TARGETS
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source


def code(turns: int) -> llvm.ModuleRef:
    """A container that returns at once, or stores many numbers of 64 bits."""
    body = "\n".join(f"""  %x{n} = load volatile i64, ptr %at
  store volatile i64 {n << 33 | 7}, ptr %at
  %no{n} = icmp eq i64 %x{n}, {n & 7}
  br i1 %no{n}, label %done, label %at{n}
at{n}:""" for n in range(turns))
    return llvm.parse_assembly(f"""define i64 @many(ptr %at) section "lpn" {{
  %x = load volatile i64, ptr %at
  %no = icmp eq i64 %x, 0
  br i1 %no, label %done, label %many
many:
{body}
  br label %done
done:
  ret i64 0
}}""")


@pytest.mark.parametrize("turns", [2100, 3500])
def test_long_code_is_counted_as_it_will_be_emitted(turns: int) -> None:
    """Beyond 2^13 instructions of LLVM's."""
    target = TARGETS["lpn"]
    target_machine(target.cpu)
    ref = code(turns)
    assert slots(ref, target) == len(read_object(emit_object(ref, target), "lpn").text) // 8 > 1 << 13


def test_what_no_jump_passes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would end the process: 'Branch target out of insn range'."""
    assert slots(code(4000), TARGETS["lpn"]) > build.FARTHEST
    monkeypatch.setattr(build, "FARTHEST", 1000)
    with pytest.raises(build.BuildError, match=r"^\w+ has more than 1000 instructions, and a jump reaches no farther: divide it into modules; "
                       r"most are made of \S+\.lpn:\d+ \(\d+\), "):
        build.compile_program(example("decompress/recompress"))


def test_names_of_any_length() -> None:
    """LLVM keeps 1,024 letters of a name, if it is not told otherwise; then two values were one."""
    name = "long" * 300
    text = f"""header H {{ bit<8> a; bit<8> b; }}
        struct headers {{ H h; }}
        parser Rx(packet pkt, out headers h) {{ state {name} {{ pkt.extract(h.h); transition accept; }} state start {{ transition {name}; }} }}
        processor P(inout headers h) {{ apply {{ bit<8> {name}1 = h.h.a; bit<8> {name}2 = h.h.b; if ({name}1 == 3) {{ {name}2 = {name}1 + {name}2; }} h.h.b = {name}2; }} }}
        deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.h); }}
        protocol E version 1 {{ on radio.rx_done : Rx -> P -> Tx; }}"""
    checked = [check(load(Source("x.lpn", each))) for each in (text, text.replace(name, "short"))]
    long, short = ([c.code.text for c in build.compile_program(program).containers] for program in checked)
    assert long == short
