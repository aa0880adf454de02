"""Swaps that LLVM makes one with a shift keep containers from being 32-bit clean; they are kept apart then."""
from __future__ import annotations

from pathlib import Path

import pytest

from lpn.compiler import bytecode
from lpn.compiler.asm import assemble
from lpn.compiler.build import Compiled, compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.judge import sealed
from lpn.compiler.llvm import parse
from lpn.compiler.swaps import hidden_swaps, wide_swaps
from lpn.lang.check import check
from lpn.lang.loader import load

JOINED = Path(__file__).parent / "regressions" / "swap-that-a-shift-joins.lpn"
IR = """
declare i16 @llvm.bswap.i16(i16)
declare i32 @llvm.bswap.i32(i32)
declare i64 @llvm.bswap.i64(i64)

define i32 @f(i16, i32 %"a b", i64 %c) {
  %2 = tail call i16 @llvm.bswap.i16(i16 %0)
  %"of a b" = call i32 @llvm.bswap.i32(i32 %"a b"), !tbaa !0
  %d.1 = tail call i64 @llvm.bswap.i64(i64 %c)
  %3 = sext i16 %2 to i32
  %4 = trunc i64 %d.1 to i32
  %5 = add i32 %3, %4
  %6 = add i32 %5, %"of a b"
  ret i32 %6
}
!0 = !{!1, !1, i64 0}
!1 = !{!"n", !2}
!2 = !{!"root"}
"""


def made() -> Compiled:
    bytecode.forget()
    compiled = compile_program(check(load(JOINED)), level=SMALL)
    sealed(compiled)
    return compiled


def test_what_had_no_certificate_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = made()
    assert all(image.certificate for image in apart.bundle.modules)
    assert not any(wide_swaps(one.code.text) for one in apart.containers)
    monkeypatch.setattr(bytecode, "wide_swaps", lambda text: False)
    monkeypatch.delenv(bytecode.FOLDER, raising=False)
    joined = made()
    assert any(wide_swaps(one.code.text) for one in joined.containers) and not all(image.certificate for image in joined.bundle.modules)
    bytecode.forget()


def test_swaps_are_hidden_whatever_they_are_called() -> None:
    text = hidden_swaps(IR, "=w,0")
    parse(text).verify()
    assert text.count('asm "", "=w,0"') == 2 and '%"of a b" = call i32 asm' in text and "%2 = trunc i32" in text


def test_wide_swaps_are_found() -> None:
    assert wide_swaps(assemble("r1 = be64 r1\nexit")) and wide_swaps(assemble("r1 = bswap64 r1\nexit"))
    assert not wide_swaps(assemble("r1 = be32 r1\nr1 = be16 r1\nr0 = 64\nexit"))
