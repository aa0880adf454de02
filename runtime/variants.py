"""Engines that a firmware may be compiled as, by the names that `--on` and the cost tables have: with which options of lpn_options.h."""

#: What is taken where nothing is said.
TRANSLATED = "thumb2"
#: How a node executes containers -> in words.
WAYS = {TRANSLATED: "translated to Thumb-2", "m3": "interpreted"}
#: For certified, 32-bit clean containers only, which are interpreted one instruction at a time.
SMALLEST = "m3-smallest"
OPTIONS = {SMALLEST: ("LPN_FUSE=0", "LPN_CERTIFIED_ONLY=1", "LPN_CLEAN32_ONLY=1")}


def table_of(variant: str) -> str:
    """The name of its cost table."""
    return variant.replace("-", "_")
