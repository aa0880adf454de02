"""Improvements of bytecode, behind LLVM: one idea a file. `peephole.py` has them in their order, `rewrite.py` what they work on."""
