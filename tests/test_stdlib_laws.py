"""Laws of the standard library: every header and codec of every file, new files too."""
from __future__ import annotations

import pytest
from programs import ROOT

from lpn.testing import laws

LIBRARY = sorted((ROOT / "stdlib").glob("*.lpn"))


@pytest.mark.parametrize("law", laws(*LIBRARY, examples=20), ids=str)
def test_law(law):
    law.check()
