"""One program takes another's place: what persistent registers hold goes with it."""
from __future__ import annotations

from lpn.compiler.kept import KeptTable
from lpn.lang.persist import Plan, StateError, plan
from lpn.runtime.engine.native import open_engine
from lpn.runtime.engines import EngineError, Program

CARRY_NEW, CARRY_SAME, CARRY_ALL = range(3)     # enum lpn_carry


def carried(state: bytes, mine: KeptTable, old_state: bytes, old: KeptTable, mode: int) -> bytes:
    """`state` with the registers that both versions keep. EngineError names the one that cannot be carried."""
    ffi, lib = open_engine()
    memory, at = ffi.new("uint8_t[]", max(len(state), 1)), ffi.new("uint32_t *")
    ffi.buffer(memory)[:len(state)] = state
    error = lib.lpn_host_carry(mine.rows(), len(mine.entries), memory, len(state), old.rows(), len(old.entries), old_state,
                               len(old_state), mode, at)
    if error:
        raise EngineError(f"register {mine.entries[at[0]].name}: {ffi.string(lib.lpn_error_name(error)).decode()}")
    return ffi.buffer(memory)[:len(state)]


def replace(old: Program, new: Program) -> Plan:
    """Give `new`, which is freshly loaded, the state it goes on with where `old` ran. Nothing happens to `old`. Raises
    EngineError when its state cannot become the new one's; `new` is of no use then."""
    theirs, mine = old.bundle, new.bundle
    try:
        chosen = plan(theirs.kept.layout(), theirs.version, mine.kept.layout(), mine.version, [m.block() for m in mine.migrations])
    except StateError as e:
        raise EngineError(str(e)) from None
    before = old.state()
    new.set_state(carried(new.state(), mine.kept, before, theirs.kept, CARRY_SAME if chosen.migrations else CARRY_NEW))
    for migration in mine.migrations:
        if migration.version == theirs.version:
            new.migrate(migration, theirs, before)
    return chosen
