"""The context's slots as the engine's checker knows them: `runtime/engine/lpn_context.h`, rendered from descriptors.py.

`python -m lpn.verifier.context_table` writes it; a test compares the two.
"""
from __future__ import annotations

from .descriptors import LPN, ContextDescriptor

KINDS = {"scalar": "NUMBER", "pkt": "PKT", "pkt_end": "PKT", "rec": "REC", "state": "STATE", "out": "OUT"}


def render(descriptor: ContextDescriptor = LPN) -> str:
    """The text of the header. A row's `max` is the largest number a slot holds; of `pkt_end`, 1: it is the packet's end."""
    rows = []
    for f in descriptor.fields:
        most = (f.max if f.max is not None else (1 << 8 * f.width) - 1) if f.kind == "scalar" else int(f.kind == "pkt_end")
        rows.append(f"    X({f.offset}, {f.width}, {f.name}, {KINDS[f.kind]}, {int(f.writable)}, {most:#x})")
    return "\n".join(["/* SPDX-License-Identifier: LGPL-2.1-only */",
                      "/* Rendered by `python -m lpn.verifier.context_table` from verifier/descriptors.py. Do not edit. */",
                      "#ifndef LPN_CONTEXT_H", "#define LPN_CONTEXT_H", "",
                      "/** X(offset, width, name, kind, writable, most) for each slot of the context. */",
                      "#define LPN_CONTEXT(X) \\", " \\\n".join(rows), "", "#endif", ""])


if __name__ == "__main__":
    from pathlib import Path

    Path(__file__).parent.parent.joinpath("runtime/engine/lpn_context.h").write_text(render(), encoding="utf-8")
