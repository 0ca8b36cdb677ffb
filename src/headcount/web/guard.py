"""Who may ask, and how much: checked before any route sees a request.

A page of another site can make a browser send requests to a loopback port. Its `Origin` gives it
away; where it has bent a name of its own to 127.0.0.1 (DNS rebinding) the `Host` does. Bodies are
limited in size, in the time they take to arrive, and in how deep their JSON nests.
"""

import asyncio
import contextlib
import json
import math
import re
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from headcount.core.errors import InputError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY_BYTES = 256 * 1024
FILE_BYTES = 32 * 2**20
UPLOAD_BYTES = 4 * FILE_BYTES  # of files in memory at once, from all clients
BODY_SECONDS = 20.0
DEEPEST = 16
# a string that is not closed is taken to the end at once: no backtracking, one pass
_MARKS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)

_BRACKETS = frozenset((b"[", b"]", b"{", b"}"))

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Refused(Exception):
    """An HTTP status and one line."""

    def __init__(self, status: int, line: str):
        super().__init__(line)
        self.status, self.line = status, line


class Guard:
    """ASGI middleware: Host, Origin, and headers on every answer."""

    def __init__(self, app: Any, hosts: tuple[str, ...]):
        self.app, self.hosts = app, frozenset(hosts)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        try:
            self.check(scope)
        except Refused as refused:
            return await send_line(send, refused.status, refused.line)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message.get("headers", [])}
                message["headers"] = [
                    *message.get("headers", []),
                    *(
                        (k.encode(), v.encode())
                        for k, v in HEADERS.items()
                        if k.encode() not in given
                    ),
                ]
            await send(message)

        await self.app(scope, receive, with_headers)

    def check(self, scope: Message) -> None:
        """Refuse hosts and origins that are not this server's own."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0].decode("latin-1").lower() not in self.hosts:
            shown = ascii(b", ".join(host).decode("latin-1")[:80])
            raise Refused(421, f"Host {shown}; expected this server's own name; open its address")
        for origin in headers.get(b"origin", []):
            text = origin.decode("latin-1").lower()
            scheme, mark, name = text.partition("://")
            if not mark or scheme not in ("http", "https") or name not in self.hosts:
                raise Refused(403, f"Origin {text[:80]!a}; expected this page's own")
        site = headers.get(b"sec-fetch-site", [b"none"])[0]
        if scope["method"] != "GET" and site not in (b"same-origin", b"none"):
            raise Refused(403, "a request from another site; expected this page's own")


async def send_line(send: Send, status: int, line: str) -> None:
    """One line as JSON, with the usual headers."""
    body = json.dumps({"error": line}).encode()
    headers = {**HEADERS, "content-type": "application/json", "content-length": str(len(body))}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


class Room:
    """What files of all clients may take of the memory together, until they are answered."""

    def __init__(self, most: int = UPLOAD_BYTES):
        self.most, self.taken = most, 0

    @contextlib.contextmanager
    def holding(self, request: Any, most: int) -> Iterator[None]:
        """Room for the body of a request, by what its head tells; refused where there is none."""
        told = request.headers.get("content-length", "")
        size = min(int(told), most) if told.isdecimal() else most
        if self.taken + size > self.most:
            raise Refused(503, "too many files at once; send it again in a moment")
        self.taken += size
        try:
            yield
        finally:
            self.taken -= size


async def body_of(request: Any, most: int, seconds: float = BODY_SECONDS) -> bytes:
    """The body, or a refusal where it is too large or comes too slowly."""
    told = request.headers.get("content-length", "0")
    if told.isdecimal() and int(told) > most:
        raise Refused(413, f"a body of {told[:20]} bytes; expected at most {most}; send less")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > most:
                    raise Refused(413, f"a body of more than {most} bytes; send less")
    except TimeoutError:
        raise Refused(408, f"the body took more than {seconds:g} s; send it at once") from None
    return b"".join(parts)


def parsed(body: bytes) -> dict[str, Any]:
    """A JSON object: no NaN, no deep nesting, no key twice."""
    if depth(body, DEEPEST) > DEEPEST:
        raise Refused(400, f"JSON nested deeper than {DEEPEST}; flatten it")
    try:
        # of any other encoding the brackets were not counted
        values = json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once
        )
    except (ValueError, RecursionError) as error:
        raise Refused(
            400, f"no JSON ({' '.join(str(error).split())[:120]}); send an object"
        ) from None
    if not isinstance(values, dict):
        raise Refused(400, f"JSON of type {type(values).__name__}; expected an object")
    return values


def depth(body: bytes, most: float = math.inf) -> int:
    """How deep brackets nest outside of strings; counted no further than one beyond `most`.

    >>> depth(b'{"a": [1, "]]"]}')
    2
    """
    deepest = level = 0
    for mark in _MARKS.finditer(body):
        sign = mark.group()
        level += (sign in b"[{") - (sign in b"]}") if sign in _BRACKETS else 0
        deepest = max(deepest, level)
        if deepest > most:
            break
    return deepest


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key given twice")
    return found


def refusal(error: InputError) -> Refused:
    """Bad input as an answer."""
    return Refused(422, str(error))
