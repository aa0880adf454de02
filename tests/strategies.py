"""Packets for tests of the project itself; what is for every program comes from `lpn.testing`."""
from __future__ import annotations

from hypothesis import strategies as st

from lpn.lang import ast
from lpn.testing.encodings import compressed
from lpn.testing.headers import declared, fill, fresh, in_order as valid
from lpn.testing.numbers import Draw, numbers, payloads
from lpn.testing.packets import damaged

__all__ = ["damaged", "lowpan", "numbers", "payloads", "valid"]


# ---------------------------------------------------------------- 6LoWPAN frames

def lowpan(program: ast.Program) -> st.SearchStrategy[bytes]:
    """Data frames in LOWPAN_IPHC with LOWPAN_NHC headers, some in a mesh, some in an uncompressed datagram. The
    program has headers `mac` and, perhaps, `mesh` and `broadcast`."""
    @st.composite
    def make(draw: Draw) -> bytes:
        run = fresh(program)
        assert run.headers is not None
        names = run.headers.fields
        fill(draw, names["mac"], {"frame_type": 1, "security": 0, "ie_present": 0})             # type: ignore[arg-type]
        frame = names["mac"].emit()                                                             # type: ignore[attr-defined]
        if "mesh" in names and draw(st.integers(0, 4)) == 0:
            fill(draw, names["mesh"], {})                                                       # type: ignore[arg-type]
            frame += names["mesh"].emit()                                                       # type: ignore[attr-defined]
        more = draw(st.integers(0, 1))
        frame += compressed(draw, declared(program, "Iphc"), {"nh": more}).data
        for _ in range(draw(st.integers(0, 5))):
            if more and draw(st.booleans()):
                more = draw(st.integers(0, 1))
                frame += compressed(draw, declared(program, "ExtNhc"), {"nh": more}).data
        if more and draw(st.integers(0, 9)):
            frame += compressed(draw, declared(program, "UdpNhc")).data
        return frame + draw(payloads)

    return make()
