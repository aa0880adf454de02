"""The table of the standard library names every file with every header and codec in it, and nothing else."""
from __future__ import annotations

import re

from programs import ROOT

from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.loader import load


def test_the_table_is_the_library():
    rows = dict(re.findall(r"^\| \[(\w+)\]\(\.\./stdlib/\w+\.lpn\) \| [^|]* \| ([^|]*) \|$", (ROOT / "docs" / "stdlib.md").read_text(), re.M))
    files = {path.stem: check(load(path)).main for path in (ROOT / "stdlib").glob("*.lpn")}
    assert set(rows) == set(files)
    for name, decls in files.items():
        wanted = [f"{one.name}({', '.join(p.name for p in one.params)})" if one.params else one.name for one in decls if isinstance(one, ast.Header)]
        for codec in (one for one in decls if isinstance(one, ast.Codec)):
            wanted += [codec.name, codec.header.name]
        assert [one for one in re.findall(r"`([^`]+)`", rows[name]) if not one.islower()] == wanted, name
