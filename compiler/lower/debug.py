"""DWARF line information: each instruction's `.lpn` file and line, so that a source map survives LLVM."""
from __future__ import annotations

import llvmlite.ir as ir

from lpn.lang.source import Source, Span


COLUMN_MAX = 0xFFFF                             # what a DILocation holds


class DebugInfo:
    """One compile unit and one subprogram; statements of imported files get a lexical block of their file."""

    def __init__(self, module: ir.Module, fn: ir.Function, span: Span, on_disk: bool = True):
        """`on_disk`: LLVM may read the program's files again, to quote their lines in an object; of a pipe it would wait for ever."""
        self.module = module
        self.quoted = {} if on_disk else {"source": ""}
        self.files: dict[int, ir.DIValue] = {}
        self.scopes: dict[int, ir.DIValue] = {}
        main = self.file(span.source)
        unit = module.add_debug_info("DICompileUnit", {
            "language": ir.DIToken("DW_LANG_C99"), "file": main, "producer": "lpnc", "runtimeVersion": 0,
            "isOptimized": True, "emissionKind": ir.DIToken("LineTablesOnly")}, is_distinct=True)
        module.add_named_metadata("llvm.dbg.cu", unit)
        flag = ir.IntType(32)
        module.add_named_metadata("llvm.module.flags", [ir.Constant(flag, 2), "Dwarf Version", ir.Constant(flag, 4)])
        module.add_named_metadata("llvm.module.flags", [ir.Constant(flag, 2), "Debug Info Version", ir.Constant(flag, 3)])
        self.subprogram = module.add_debug_info("DISubprogram", {
            "name": fn.name, "file": main, "line": span.line, "isDefinition": True, "unit": unit,
            "type": module.add_debug_info("DISubroutineType", {"types": module.add_metadata([])})}, is_distinct=True)
        fn.set_metadata("dbg", self.subprogram)
        self.scopes[id(span.source)] = self.subprogram
        self.start = self.location(span)

    def file(self, source: Source) -> ir.DIValue:
        if id(source) not in self.files:
            self.files[id(source)] = self.module.add_debug_info("DIFile", {"filename": source.name, "directory": ".", **self.quoted})
        return self.files[id(source)]

    def location(self, span: Span) -> ir.DIValue:
        key = id(span.source)
        if key not in self.scopes:
            self.scopes[key] = self.module.add_debug_info("DILexicalBlockFile", {
                "scope": self.subprogram, "file": self.file(span.source), "discriminator": 0})
        return self.module.add_debug_info("DILocation", {"line": span.line, "column": min(span.column, COLUMN_MAX), "scope": self.scopes[key]})
