"""`lpnc test`: tests of a program as text beside it, `X.test` beside `X.lpn`; docs/testing.md is the user's page.

A file goes through words (tokens), parse (the tree of `model`), resolve (names against the program), then run: each test on
fresh runners, `make` makes the packets that are sent, `match` holds what came out against what is expected, `show` says how
they differ.
"""
