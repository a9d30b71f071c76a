"""The sockets: a thread a client, and limits that keep one client from hurting the rest.

A message must arrive whole within a time and a size; between messages a client may wait much longer, unless all places
are taken: then the one that was silent longest makes room. What is not the protocol is answered with an exception if a
head could be read, and the connection is closed: where a message ends is not known any more. Nothing a client sends
ends the server.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from skipstone.hive.service.service import HiveService, failure
from skipstone.hive.thrift.binary import Input, ProtocolViolation, Truncated
from skipstone.hive.thrift.messages import Message, read_head

_log = logging.getLogger(__name__)
_CHUNK_BYTES = 1 << 18
# How long a client that is sent away may go on sending.
_LAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    host: str = "127.0.0.1"
    port: int = 9083
    message_bytes_max: int = 100 << 20
    message_seconds_max: float = 60.0
    idle_seconds_max: float = 3600.0
    # A client that has been silent for longer makes room for another when all places are taken.
    idle_seconds_kept: float = 60.0
    clients_max: int = 200


class HiveServer:
    """Serves a service until it is closed. Port 0 takes a free one; `port` says which."""

    def __init__(self, service: HiveService, settings: ServerSettings | None = None) -> None:
        self._service = service
        self._settings = settings or ServerSettings()
        self._clients: dict[socket.socket, _Conversation] = {}
        self._guard = threading.Lock()
        self._closing = threading.Event()
        self._listener = socket.create_server((self._settings.host, self._settings.port), backlog=128)
        self._thread = threading.Thread(target=self._accept, name="skipstone-hive", daemon=True)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def start(self) -> HiveServer:
        self._thread.start()
        return self

    def wait(self) -> None:
        """Block until the server is closed."""
        self._thread.join()

    def close(self) -> None:
        self._closing.set()
        # Waking the accepting thread: closing a socket another thread waits on does not.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._guard:
            clients = list(self._clients)
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        if self._thread.is_alive():
            self._thread.join(5)

    def __enter__(self) -> HiveServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                # Out of descriptors, perhaps: clients that leave free some. When closing, this ends at once.
                self._closing.wait(0.05)
                continue
            conversation = _Conversation(client, self._service, self._settings)
            with self._guard:
                is_full = len(self._clients) >= self._settings.clients_max and not self._make_room()
                if not is_full:
                    self._clients[client] = conversation
            if is_full:
                client.close()
                continue
            try:
                threading.Thread(
                    target=self._serve, args=(client, conversation), name="skipstone-hive-client", daemon=True
                ).start()
            except RuntimeError as error:
                # No thread is to be had; this client leaves, the others and those to come stay.
                _log.warning("client turned away: %s", error)
                self._forget(client)
                client.close()

    def _make_room(self) -> bool:
        """Send away the client that has been silent longest, if that is long enough."""
        before = time.monotonic() - self._settings.idle_seconds_kept
        silent = [(since, c) for c, one in self._clients.items() if (since := one.idle_since) is not None]
        oldest = min(silent, key=lambda one: one[0], default=None)
        if oldest is None or oldest[0] > before:
            return False
        del self._clients[oldest[1]]
        with suppress(OSError):
            oldest[1].shutdown(socket.SHUT_RDWR)
        return True

    def _serve(self, client: socket.socket, conversation: _Conversation) -> None:
        try:
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                conversation.run()
        except OSError as error:
            _log.debug("client left: %s", error)
        except Exception:
            _log.exception("conversation ended by a fault")
        finally:
            self._forget(client)

    def _forget(self, client: socket.socket) -> None:
        with self._guard:
            self._clients.pop(client, None)


class _Conversation:
    """One client's messages, one after the other."""

    def __init__(self, client: socket.socket, service: HiveService, settings: ServerSettings) -> None:
        self._client = client
        self._service = service
        self._settings = settings
        self._deadline: float | None = None
        # Since when nothing of a message has come; none while one is coming or is answered.
        self.idle_since: float | None = time.monotonic()
        self._source = Input(more=self._receive, limit=settings.message_bytes_max)

    def run(self) -> None:
        while self._next():
            pass

    def _next(self) -> bool:
        """Answer one message; whether there may be another."""
        self._source.next_message()
        self._deadline = None
        call: Message | None = None
        try:
            call = read_head(self._source)
            if call.name == "shutdown":
                return False
            reply = self._service.answer(call, self._source)
        except Truncated:
            return False
        except ProtocolViolation as error:
            _log.warning("client sent away: %s", error)
            if call is not None:
                self._send_last(failure(call, str(error)))
            return False
        self._send(reply)
        self.idle_since = time.monotonic()
        return True

    def _receive(self) -> bytes:
        if self._deadline is None:
            self._client.settimeout(self._settings.idle_seconds_max)
        else:
            self._client.settimeout(max(self._deadline - time.monotonic(), 0.001))
        data = self._client.recv(_CHUNK_BYTES)
        self.idle_since = None
        if self._deadline is None:
            self._deadline = time.monotonic() + self._settings.message_seconds_max
        return data

    def _send_last(self, data: bytearray) -> None:
        """Answer, and read for a moment what still comes: closed before it is read, a connection loses the answer."""
        self._send(data)
        self._client.shutdown(socket.SHUT_WR)
        until = time.monotonic() + _LAST_SECONDS
        while (left := until - time.monotonic()) > 0:
            self._client.settimeout(left)
            if not self._client.recv(_CHUNK_BYTES):
                return

    def _send(self, data: bytearray) -> None:
        self._client.settimeout(self._settings.message_seconds_max)
        self._client.sendall(data)
