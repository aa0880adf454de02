"""What is known on a path through a program: which headers are valid, and what values variables and fields can have.

Several paths are kept apart as long as they are few; where there are more, what holds on all of them is kept.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

Key = tuple[object, object]                     # a header: (field of the headers struct, variable or parameter; index or None)
Path = tuple[object, ...]                       # a value: (*key, field) of a header, (declaration, "var", field, ...) of a variable

MAX_PATHS = 64                                  # more are merged
MAX_VALUES = 64                                 # a longer list of values is forgotten


@dataclass(frozen=True)
class Values:
    """A value is one of `only` (None: anything), and none of `never`."""

    only: frozenset[int] | None = None
    never: frozenset[int] = frozenset()

    def within(self, values: Iterable[int]) -> "Values":
        allowed = frozenset(values) - self.never
        return Values(allowed if self.only is None else self.only & allowed)

    def without(self, values: Iterable[int]) -> "Values":
        gone = frozenset(values)
        if self.only is not None:
            return Values(self.only - gone)
        return Values(None, self.never | gone)

    def or_else(self, other: "Values") -> "Values":
        """What holds of a value that is one or the other."""
        if self.only is not None and other.only is not None:
            return Values(self.only | other.only)
        if self.only is None and other.only is None:
            return Values(None, self.never & other.never)
        some, rest = (self, other) if self.only is not None else (other, self)
        return Values(None, rest.never - (some.only or frozenset()))

    @property
    def impossible(self) -> bool:
        return self.only is not None and not self.only

    @property
    def says_nothing(self) -> bool:
        return self.only is None and not self.never or len(self.only or self.never) > MAX_VALUES


@dataclass(frozen=True)
class Known:
    """What is known on one path. filled: how many elements of a stack were extracted, at least and at most."""

    valid: frozenset[Key] = frozenset()
    invalid: frozenset[Key] = frozenset()
    filled: tuple[tuple[object, int, int], ...] = ()
    values: frozenset[tuple[Path, Values]] = field(default_factory=frozenset)

    # ---- headers

    def make_valid(self, key: Key) -> "Known":
        return replace(self.forget(key), valid=self.valid | {key}, invalid=self.invalid - {key})

    def make_invalid(self, key: Key) -> "Known":
        return replace(self.forget(key), valid=self.valid - {key}, invalid=self.invalid | {key})

    def copy(self, to: Key, of: Key) -> "Known":
        """After one header was assigned to another."""
        copies = frozenset(((*to, *path[len(of):]), known) for path, known in self.values if path[:len(of)] == of)
        new = self.forget(to)
        return replace(new, valid=new.valid - {to} | ({to} if of in new.valid else set()),
                       invalid=new.invalid - {to} | ({to} if of in new.invalid else set()), values=new.values | copies)

    def is_valid(self, key: Key) -> "Known | None":
        """This path, if the header is valid on it; None if it is not."""
        return None if key in self.invalid else replace(self, valid=self.valid | {key})

    def is_invalid(self, key: Key) -> "Known | None":
        return None if key in self.valid else replace(self, invalid=self.invalid | {key})

    def fill(self, stack: object, size: int) -> "Known | None":
        """After extracting the stack's next element; None if the stack was full."""
        low, high = next(((a, b) for one, a, b in self.filled if one is stack), (0, 0))
        if low >= size:
            return None
        new = self.make_valid((stack, low)).make_valid((stack, "last"))
        unknown = frozenset((stack, index) for index in range(low, min(high, size - 1) + 1))
        rest = tuple(one for one in self.filled if one[0] is not stack)
        return replace(new, invalid=new.invalid - unknown, filled=(*rest, (stack, low + 1, min(high + 1, size))))

    def move(self, stack: object, size: int, by: int) -> "Known":
        """After every element of a stack has gone `by` places up; those that nothing comes to are invalid."""
        def moved(path: Path) -> Path | None:
            if path[0] is not stack:
                return path
            place = path[1] + by if isinstance(path[1], int) else -1
            return (path[0], place, *path[2:]) if 0 <= place < size else None

        gone = frozenset((stack, i) for i in range(size) if not 0 <= i - by < size)
        keep = lambda keys: frozenset(new for key in keys if (new := moved(key)) is not None)       # noqa: E731
        values = frozenset((new, known) for path, known in self.values if (new := moved(path)) is not None)
        return replace(self, valid=keep(self.valid), invalid=keep(self.invalid) | gone, values=values)

    # ---- values

    def about(self, path: Path) -> Values:
        return next((values for one, values in self.values if one == path), Values())

    def set(self, path: Path, values: Values) -> "Known":
        kept = frozenset([one for one in self.values if one[0] != path])
        return replace(self, values=kept if values.says_nothing else kept | {(path, values)})

    def forget(self, start: Path) -> "Known":
        """Without what is known of a variable, a header's fields (start: its key), or anything in them."""
        kept = frozenset([one for one in self.values if one[0][:len(start)] != start])
        return self if len(kept) == len(self.values) else replace(self, values=kept)


Paths = frozenset[Known]
NOWHERE: Paths = frozenset()


def join(*several: Paths) -> Paths:
    """The paths of all; merged where they are too many."""
    all_paths = frozenset().union(*several)
    if len(all_paths) <= MAX_PATHS:
        return all_paths
    merged = all_paths
    for alike in (lambda one: (one.valid, one.invalid, one.filled), lambda one: one.valid,
                  lambda one: frozenset(key for key in one.valid if key[1] is None)):       # whatever the elements of stacks
        groups: dict[object, list[Known]] = {}
        for one in merged:
            groups.setdefault(alike(one), []).append(one)
        merged = frozenset(merge(group) for group in groups.values())
        if len(merged) <= MAX_PATHS:
            return merged
    return frozenset([merge(list(merged))])


def merge(paths: list[Known]) -> Known:
    """What holds on all of the paths."""
    first, *rest = paths
    valid, invalid = first.valid, first.invalid
    filled = {stack: (low, high) for stack, low, high in first.filled}
    values = dict(first.values)
    for one in rest:
        valid &= one.valid
        invalid &= one.invalid
        theirs = {stack: (low, high) for stack, low, high in one.filled}
        filled = {stack: (min(filled.get(stack, (0, 0))[0], theirs.get(stack, (0, 0))[0]),
                          max(filled.get(stack, (0, 0))[1], theirs.get(stack, (0, 0))[1]))
                  for stack in {*filled, *theirs}}
        others = dict(one.values)
        values = {path: known.or_else(others[path]) for path, known in values.items() if path in others}
    return Known(valid, invalid, tuple((stack, low, high) for stack,
                                       (low, high) in sorted(filled.items(), key=lambda item: id(item[0]))),
                 frozenset([(path, known) for path, known in values.items() if not known.says_nothing]))
