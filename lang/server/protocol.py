"""What pygls leaves open of the protocol: every request has an answer, and what is refused is no fault of the server's."""
from __future__ import annotations

import logging
import sys
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import RPCRequest

BEFORE = lsp.INITIALIZE, lsp.SHUTDOWN           # requests that may come when nothing is initialized


@dataclass
class Wrong:
    """A message whose parameters are not those of its method; `id` None: a notification."""

    method: str
    id: int | str | None


class Protocol(LanguageServerProtocol):
    #: Of the process, once the editor has sent `exit`: 1 without `shutdown` before it.
    status = 0

    def structure_message(self, data: dict[str, Any]) -> Any:
        if "method" not in data or "jsonrpc" not in data:
            return super().structure_message(data)
        log = logging.getLogger("pygls.protocol.json_rpc")
        log.disabled = True                     # it would show where in its converters that was found
        try:
            return super().structure_message(data)
        except JsonRpcException:
            return Wrong(str(data["method"]), data["id"] if isinstance(data.get("id"), int | str) else None)
        finally:
            log.disabled = False

    def handle_message(self, message: Any) -> None:
        if isinstance(message, Wrong):
            if message.id is not None:
                self.refuse(message.id, lsp.ErrorCodes.InvalidParams, f"these are no parameters of {message.method}")
            else:
                print(f"lpnc lsp: these are no parameters of {message.method}", file=sys.stderr)
        elif isinstance(message, RPCRequest) and self._shutdown:
            self.refuse(message.id, lsp.ErrorCodes.InvalidRequest, f"{message.method} comes after shutdown")
        elif isinstance(message, RPCRequest) and self._workspace is None and message.method not in BEFORE:
            self.refuse(message.id, lsp.ErrorCodes.ServerNotInitialized, f"{message.method} comes before initialize")
        else:
            if getattr(message, "method", None) == lsp.EXIT:
                self.status = int(not self._shutdown)
            super().handle_message(message)

    def _send_handler_result(self, future: Future[Any], *, msg_id: int | str) -> None:
        if not future.cancelled() and isinstance(error := future.exception(), JsonRpcException):
            self._request_futures.pop(msg_id, None)
            self._send_response(msg_id, error=error.to_response_error())
        else:
            super()._send_handler_result(future, msg_id=msg_id)

    def refuse(self, msg_id: int | str, code: int, why: str) -> None:
        self._send_response(msg_id, error=lsp.ResponseError(code, why))
