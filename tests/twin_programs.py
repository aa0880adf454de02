"""What the tests of a codec's twins have in common, for `str.format`: two fields, what both are given, and the groups around theirs, `u` and `v`."""
from __future__ import annotations

ENDS = """
    header L {{ bit<8> f; bit<32> p; bit<32> q; }}
    header H {{ bit<8> k; bit<64> a; bit<64> b; bit<8> n; }}
    struct Ends {{ bool has_a; bool has_b; bit<64> a; bit<64> b; }}
    function Ends ends(L l) {{
        Ends e;
        e.has_a = l.f[0:0] == 1;
        e.has_b = l.f[1:1] == 1;
        if (l.f[2:2] == 1) {{ e.a = 32w1 ++ l.p; }} else {{ e.a = 64w0x20 ^ (32w2 ++ l.p); }}
        if (l.f[3:3] == 1) {{ e.b = 32w1 ++ l.q; }} else {{ e.b = 64w0x20 ^ (32w2 ++ l.q); }}
        return e;
    }}
    function bit<8> kind(bit<8> x) {{ if (x[7:4] == 3) {{ return 77; }} return x; }}
    struct headers {{ L l; H h; }}"""
GROUPS = """
        x {{ 0: i = 0, o = 0; 1: inline(i, o); }}
        m {{ 1: more = 1, n = kind(following:8); 0: more = 0, inline(n); }}
        u {{ {u} }}
        v {{ {v} }}
        w {{ 0: k = 0; 1: k = 1; 2: k = 2; 3: inline(k); }}"""
