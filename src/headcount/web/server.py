"""The server: uvicorn on a loopback address, with limits on connections and on slow clients."""

import asyncio
import ipaddress
import json
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from headcount.core.children import asked_path
from headcount.core.errors import InputError, require
from headcount.web.app import WORKERS, application
from headcount.web.guard import Message, Receive, Send, send_line

HEAD_SECONDS = 10.0
KEEP_SECONDS = 15
READ_SECONDS = 20.0  # in which a client reads something of what was sent to it
MOST_CONNECTIONS = 400
LOOPBACK = ("127.0.0.1", "localhost", "::1")


async def crowded(scope: Message, receive: Receive, send: Send) -> None:
    """What is answered where there are too many connections."""
    await send_line(send, 503, "too many connections at once; ask again in a moment")


class Server(uvicorn.Server):
    """Takes ^C once it runs, and then ends the computations first, so that those who wait for them
    are not waited for.
    """

    def __init__(self, config: uvicorn.Config, end_work: Callable[[], None]):
        super().__init__(config)
        self.end_work = end_work

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _hold_interrupts(signal.SIG_UNBLOCK)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.end_work()
        await super().shutdown(sockets)


class PatientProtocol(H11Protocol):
    """Closes a connection whose request does not arrive, or whose answer is not read: patient, but
    not for ever. What never reaches a route is refused as one line of JSON too.
    """

    _patience: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_head()
        self._look_at_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._reading is not None:
            self._reading.cancel()
        super().connection_lost(exc)

    def _look_at_reader(self) -> None:
        """Hang up where nothing of what waits was read since the last look."""
        unread = self.transport.get_write_buffer_size()
        if unread and unread == self._unread:
            self.transport.abort()
            return
        self._unread = unread
        self._reading = self.loop.call_later(READ_SECONDS, self._look_at_reader)

    def send_400_response(self, msg: str) -> None:
        body = json.dumps({"error": "no valid HTTP request; send one as HTTP/1.1 says"}).encode()
        headers = [
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        many = len(self.connections) >= MOST_CONNECTIONS
        self.app = crowded if many else self.config.loaded_app
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._await_head()

    def _await_head(self) -> None:
        if self._patience is None:
            self._patience = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._lose)

    def _lose(self) -> None:
        self._patience = None
        idle = self.cycle is None or self.cycle.response_complete
        if idle and not self.transport.is_closing():
            self.transport.close()


def hosts_of(address: str, port: int) -> tuple[str, ...]:
    """The values of Host that belong to this server."""
    names = {*LOOPBACK, address} if _is_loopback(address) else {address, "localhost", "127.0.0.1"}
    shown = [f"[{name}]" if ":" in name else name for name in sorted(names)]
    return tuple(f"{name}:{port}" for name in shown)


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def bound_socket(address: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any that is free."""
    require(0 <= port <= 65535, f"port {port}", "0 to 65535", "pass for example --port 8642")
    wild = address in ("0.0.0.0", "::", "")
    require(not wild, f"host {address!r}", "one address of this machine", "name the address")
    kind = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(kind, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((address, port))
        made.listen(128)  # who comes before the server runs waits instead of being refused
    except (OSError, TypeError, ValueError) as error:  # letters that no name of a machine has
        made.close()
        raise InputError(
            f"cannot listen on {address} port {port} ({getattr(error, 'strerror', error)})",
            "an address of this machine and a free port",
            "pass another --port, or 0 for any",
        ) from None
    return made


def serve(
    root: Path,
    address: str = "127.0.0.1",
    port: int = 8642,
    open_page: bool = False,
    workers: int = WORKERS,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve until ^C, which is raised when all is ended."""
    sys.path[:] = asked_path()  # what loads late, or in a worker, comes from no working folder
    listening = bound_socket(address, port)
    port = listening.getsockname()[1]
    app = application(root, hosts_of(address, port), workers, acting=_is_loopback(address))
    shown = f"[{address}]" if ":" in address else address
    url = f"http://{shown}:{port}/"
    server = Server(configuration(app), app.app.state.service.pool.close)
    tell(f"the explorer is at {url} (^C ends it)")
    if open_page:
        threading.Timer(1.0, webbrowser.open, (url,)).start()
    signal.signal(signal.SIGTERM, _terminated)
    _hold_interrupts(signal.SIG_BLOCK)
    try:
        server.run([listening])
    finally:
        _hold_interrupts(signal.SIG_UNBLOCK)
        server.end_work()


def _hold_interrupts(how: int) -> None:
    """^C while the server is put together waits until it can be taken in order."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(how, {signal.SIGINT})


def _terminated(number: int, frame: Any) -> None:
    """An end in order: what runs at exit takes temporary folders away."""
    sys.exit(128 + number)


def configuration(app: Any) -> uvicorn.Config:
    """No version in answers, no trust in forwarded headers, bounded connections."""
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_SECONDS,
        h11_max_incomplete_event_size=16 * 1024,
        timeout_graceful_shutdown=2,
    )
