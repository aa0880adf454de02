"""Random processors that look one table up in turns of a loop: what became of a turn is not what becomes of the next (compiler/lower/processor.py)."""
from __future__ import annotations

from .base import bit
from .stmt import indent
from .tables import Tables


class Turns(Tables):
    def lookups_in_turns(self, name: str) -> list[str]:
        """Of octets of the payload, or of the turn's number. What was found is told by what it does, and by who asks for it."""
        c = self.choose
        seen, key, table = self.fresh("r"), self.fresh("u"), self.fresh("t")
        turn, width, kind = self.fresh("i"), c.pick((8, 3, 2)), c.pick(("exact", "ternary", "range", "lpm"))
        self.actions = [(self.fresh("act"), [("x", bit(8))] if c.chance(1, 3) else []) for _ in range(c.number(1, 3))]
        lines = [f"register<bit<32>> {seen};", f"bit<{width}> {key};"]
        for at, (action, params) in enumerate(self.actions):
            params_text = ", ".join(f"{ty} {one}" for one, ty in params)
            lines.append(f"action {action}({params_text}) {{ {seen} = {seen} * 5 + {'(bit<32>) x' if params else at}; }}")
        lines += [f"table {table} {{", f"    key = {{ {key} : {kind}; }}", f"    actions = {{ {' '.join(f'{action};' for action, _ in self.actions)} }}"]
        if c.chance(1, 2):
            self.given[f"{name}.{table}"] = [self.given_entry([("", bit(width), kind)]) for _ in range(c.number(1, 3))]
        else:
            entries = []
            for number in sorted({c.value(min(width, 3)) for _ in range(c.number(1, 3))}):
                action, params = c.pick(self.actions)
                entries.append(f"        {number}: {action}({', '.join(self.constant(ty) for _, ty in params)});")
            lines += ["    const entries = {", *entries, "    }"]
        if c.chance(1, 3):
            action, params = c.pick(self.actions)
            lines.append(f"    default_action = {action}({', '.join(self.constant(ty) for _, ty in params)});")
        lines += ["}"]
        asked = [action for action, _ in self.actions if c.number(0, 3)]
        arms = [f"    {action}: {{ {seen} = {seen} * 3 + {at + 1}; }}" for at, action in enumerate(asked)]
        which = [f"switch ({table}.apply().action_run) {{", *arms, f"    default: {{ {seen} = {seen} * 7; }}", "}"]
        hits = [f"if ({table}.apply().{c.pick(('hit', 'miss'))}) {{ {seen} = {seen} * 3 + 2; }}"]
        looked_up = which if c.number(0, 2) else hits
        if c.chance(1, 4):                      # on some ways only: it is not asked of the others
            looked_up = [f"if ({turn}[0:0] == {c.number(0, 1)}) {{", *indent(looked_up), "}"]
        source = f"payload[{turn}]" if c.number(0, 2) else f"{turn}[7:0]"
        said = f"{key} = {source if width == 8 else f'({source})[{width - 1}:0]'};"
        loop = [f"for ({turn} in 0..{c.pick((3, 2, 5, 70))}) {{", *indent([said, *looked_up]), "}"]
        return [f"processor {name}(inout headers h, inout meta m) {{", *indent([*lines, "apply {", *indent([*loop, f"m.port = {seen}[15:0];"]), "}"]), "}"]
