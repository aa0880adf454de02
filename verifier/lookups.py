"""What a lookup takes that looks at one entry after the other, at most.

An entry's fields are compared with the key one after the other, up to the first that does not match. So of constant entries a lookup does not look at all
fields, since no key is all of them. The entries of which field f + 1 is looked at match
the key in the fields up to f, all of them the same key: each two of them match a common value there. The most is searched over sets of entries
of which that holds.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

STEPS = 20_000                                        # of the search; behind it all entries that are left match

Together = tuple[tuple[int, ...], ...]                # of each field and entry the entries, as bits, that have a value in common with it there


def together(kinds: Sequence[tuple[str, int]], entries: Sequence[Sequence[tuple[int, ...]]]) -> Together:
    """`kinds`: each field's kind of match and bits; `entries`: of each the fields' matches: (value), (value, prefix), (value, mask), (low, high)."""
    return tuple(tuple(sum(1 << j for j, other in enumerate(entries) if _common(kind, bits, one[f], other[f])) for one in entries)
                 for f, (kind, bits) in enumerate(kinds))


def _common(kind: str, bits: int, a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether some value matches both."""
    if kind == "range":
        return max(a[0], b[0]) <= min(a[1], b[1])
    (value, mask), (other, second) = (_masked(kind, bits, match) for match in (a, b))
    return not (value ^ other) & mask & second


def _masked(kind: str, bits: int, match: tuple[int, ...]) -> tuple[int, int]:
    mask = (1 << bits) - 1
    if kind == "lpm":
        mask = mask >> bits - match[1] << bits - match[1]
    elif kind == "ternary":
        mask = match[1]
    return match[0], mask


def field_cost(match: Mapping[str, Mapping[str, Sequence[int]]], kind: str, size: int) -> tuple[int, int]:
    """Cycles of a field of so many octets that matches, and of one that does not. `match`: as in a cost table; `kind`: "" is any."""
    passed, missed = (max(first + word * (size // 4) + octet * (size % 4) for each in ([kind] if kind else match) for first, word, octet in [match[each][way]])
                      for way in ("pass", "miss"))
    return passed, missed


def entry_costs(per_entry: int, fields: Sequence[tuple[int, int]]) -> list[int]:
    """Of each field how much more an entry takes, at most, when it is looked at. `fields`: their costs, matching and not."""
    out, before, most = [], per_entry, 0
    for passed, missed in fields:
        here = max(most, before + max(passed, missed))
        out.append(here - most)
        most, before = here, before + passed
    return out


def looked_at(fields: Together, cost: Sequence[int]) -> int:
    """What looking at entries' fields costs at most, all together. `cost`: how much more an entry takes of which a field is looked at."""
    steps = STEPS

    def groups(alike: tuple[int, ...], group: int, more: int, gone: int) -> Iterator[int]:
        """The largest sets of entries that are alike, `group` and some of `more`, none of `gone` (Bron and Kerbosch)."""
        nonlocal steps
        steps -= 1
        if not more and not gone:
            yield group
            return
        pivot = (more | gone).bit_length() - 1
        left = more & ~(alike[pivot] & ~(1 << pivot))
        while left and steps > 0:
            bit = left & -left
            near = alike[bit.bit_length() - 1] & ~bit
            yield from groups(alike, group | bit, more & near, gone & near)
            left, more, gone = left ^ bit, more & ~bit, gone | bit

    @cache
    def behind(field: int, entries: int) -> int:
        """Of the fields behind this one, which is looked at of these entries."""
        if field == len(fields) - 1 or not entries:
            return 0
        most = max((cost[field + 1] * group.bit_count() + behind(field + 1, group) for group in groups(fields[field], 0, entries, 0)), default=0)
        return most if steps > 0 else entries.bit_count() * sum(cost[field + 1:])
    entries = len(fields[0])
    return entries * cost[0] + behind(0, (1 << entries) - 1)
