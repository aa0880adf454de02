"""An interrupt (control-C) while an emulator runs.

Python tells of it in the next function that the emulator calls; what is raised in front of that function's first statement goes
through C, where it is printed and lost.
"""
from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import unicorn


class Held:
    """Stands around each run of an emulator: an interrupt ends the run, and is raised when the emulator has been left."""

    def __init__(self, uc: unicorn.Uc) -> None:
        self._uc = uc
        self._holds = self._came = False

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._come)
            self._holds = True

    def _come(self, number: int, frame: Any) -> None:
        self._came = True
        self._uc.emu_stop()

    def __exit__(self, *_: object) -> None:
        if self._holds:
            self._holds = False
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._came:
            self._came = False
            raise KeyboardInterrupt
