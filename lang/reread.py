"""A text that is read once more, as the library is for each program: its declarations are made from what was kept of them, not parsed again.

Nobody shares them: the checker writes types into the tree.
"""
from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

from .source import Source

MOST = 128                                      # texts
_kept: OrderedDict[str, bytes | None] = OrderedDict()       # None: read once; most are never read again


class _Writer(pickle.Pickler):
    def persistent_id(self, one: Any) -> bool | None:
        return True if type(one) is Source else None


class _Reader(pickle.Unpickler):
    def __init__(self, kept: bytes, source: Source) -> None:
        super().__init__(io.BytesIO(kept))
        self.source = source

    def persistent_load(self, _: Any) -> Source:
        return self.source


def kept(source: Source) -> Any:
    """What is in a source of this text, with places in this one; None: it has to be parsed."""
    found = _kept.get(source.text)
    if found is None:
        return None
    _kept.move_to_end(source.text)
    return _Reader(found, source).load()


def keep(source: Source, items: Any) -> None:
    """What a text is, parsed without a word. Kept from the second time on."""
    if source.text not in _kept:
        _kept[source.text] = None
        while len(_kept) > MOST:
            _kept.popitem(last=False)
        return
    out = io.BytesIO()
    try:
        _Writer(out, pickle.HIGHEST_PROTOCOL).dump(items)
    except RecursionError:                      # deep in each other
        return
    _kept[source.text] = out.getvalue()
