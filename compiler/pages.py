"""Pages of docs/ whose measured sections are written by what measures them: `<!-- name -->` before one, `<!-- end -->` behind it."""
from __future__ import annotations

import re
from pathlib import Path

from .output import Failure, write_files

MARK = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def sections(page: Path) -> set[str]:
    """The names of a page's sections. Raises Failure where there is no page."""
    return {found[2] for found in MARK.finditer(_text(page))}


def rewrite(page: Path, new: dict[str, str]) -> None:
    """Puts these sections into the page. Raises Failure where one has no place."""
    missing = set(new) - sections(page)
    if missing:
        raise Failure(f"{page} has no place for {', '.join(sorted(missing))}")
    write_files({page: MARK.sub(lambda f: f[1] + new[f[2]] + f[3] if f[2] in new else f[0], _text(page)).encode()})


def _text(page: Path) -> str:
    if not page.is_file():
        raise Failure(f"{page} is not there")
    return page.read_text("utf-8")
