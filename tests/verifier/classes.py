"""The kinds of mistakes a verifier must find: each has programs in rules/ that make it, and near misses that do not."""

CLASSES = {
    "structure": [
        "empty", "fall-through", "jump past the end", "jump out of a function", "jump before the start", "jump far", "jump into lddw", "truncated lddw", "malformed lddw",
        "register 11", "register 15", "r10 written by a move", "r10 written by arithmetic", "r10 written by lddw", "r10 written by a load",
        "r10 written by an atomic", "reserved fields", "unknown opcodes", "dead code", "legacy loads", "callx"],
    "initialisation": [
        "register", "one path only", "stack bytes partly", "registers clobbered by a call", "shift counts", "divisors",
        "a 32-bit divisor whose upper half alone is non-zero"],
    "memory": [
        "stack under", "stack over", "stack across", "stack -600", "stack variable", "packet unchecked", "packet short", "packet on the wrong branch",
        "packet off by one", "packet negative", "packet wrapping", "context", "null dereference", "integer dereference", "pointer multiply",
        "pointer truncate", "pointer add", "pointer compare", "spill corruption", "leaks", "misalignment", "signed index",
        "32-bit compare bounding a 64-bit value"],
    "termination": [
        "self", "mutual", "no progress", "data-dependent", "step over !=", "reset counter", "irreducible", "32-bit wrap", "10^8", "nested 10^9"],
    "calls": [
        "helper id", "context", "argument types", "buffers short", "buffers uninitialised", "stale packet pointers", "recursion", "functions", "summed stacks"],
}
ALL = [f"{group}/{name}" for group, names in CLASSES.items() for name in names]
