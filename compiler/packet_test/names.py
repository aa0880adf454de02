"""The reference as a test's scribe: it runs what is tested, and knows which field each octet of a rebuilt packet is."""
from __future__ import annotations

from collections.abc import Iterator, Mapping

from lpn.lang import ast
from lpn.lang.reference import NotSupported, Reference
from lpn.lang.reference.headers import ChoiceValue, Instance
from lpn.lang.reference.run import Run
from lpn.lang.reference.values import width_of
from lpn.runtime.engines import Externs, Result

from ..runner import ReferenceRunner


class NamingRun(Run):
    """A run that remembers the names of the octets it emits."""

    labels: list[str] = []

    def emit(self, instance: Instance, codec, args: list[object]):
        assert self.emitting is not None
        if not self.emitting:
            self.labels = []
        names = [] if codec is not None or not instance.valid else list(octet_names(instance))
        before = len(self.emitting)
        result = super().emit(instance, codec, args)
        if len(self.emitting) > before:
            size = len(self.emitting[-1])
            self.labels += names if len(names) == size else [f"{instance.name} via {codec.name}" if codec else instance.name] * size
        return result


class NamingReference(Reference):
    last: NamingRun | None = None

    def prepare(self, frame, meta, state):
        self.last = NamingRun(self.program, self.derived, frame, meta or {}, state if state is not None else self.state(), self.externs)
        return self.last


class Scribe(ReferenceRunner):
    """Raises NotSupported only where it is an engine of the test (`strict`)."""

    def __init__(self, program: ast.Program, strict: bool, externs: Externs | None = None, hook: int | None = None) -> None:
        super().__init__(program, None, externs, hook)
        self.reference: NamingReference = NamingReference(program, externs)
        self.strict, self.labels, self.lost = strict, [], False

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None, hook: int | None = None) -> Result | None:        # type: ignore[override]
        """None from where on the reference cannot follow the program."""
        if self.lost:
            return None
        try:
            result = super().run(frame, meta, hook)
        except NotSupported:
            if self.strict:
                raise
            self.lost = True
            return None
        last = self.reference.last
        assert last is not None
        self.labels = list(last.labels) if result.out is not None else []
        if result.out is not None:
            self.labels += ["payload"] * (len(result.out) - len(self.labels))
        return result


def octet_names(instance: Instance) -> Iterator[str]:
    """For each octet of a header as it would be emitted, the fields in it."""
    names: list[list[str]] = []
    at = 0

    def add(name: str, first: int, width: int) -> None:
        for octet in range(first // 8, (first + width - 1) // 8 + 1):
            names.extend([] for _ in range(octet + 1 - len(names)))
            names[octet].append(name)

    for item in instance.header.items:
        if isinstance(item, ast.Word):
            shift = 0
            for part in item.fields:
                width = width_of(part.type)
                for octet in sorted({bit // 8 for bit in range(shift, shift + width)}):
                    add(part.name, at + 8 * (octet if item.little else item.width // 8 - 1 - octet), 8)
                shift += width
            at += item.width
        elif isinstance(item, ast.ChoiceField):
            arm = ChoiceValue(instance, item).arm()
            if arm is not None:
                add(f"{item.name}.{arm.name}", at, width_of(arm.type))
                at += width_of(arm.type)
        elif isinstance(item, ast.Field) and instance.present(item):
            width = instance.field_bits(item)
            if width:
                add(item.name, at, width)
            at += width
    for each in names:
        yield f"{instance.name}.{' '.join(dict.fromkeys(each))}"
