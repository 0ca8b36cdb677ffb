"""The server on a real socket: slow clients, many at once, clients that leave."""

import asyncio
import contextlib
import json
import socket

import pytest

from headcount.core.errors import InputError
from headcount.web import server as servers
from headcount.web.server import bound_socket, hosts_of


@contextlib.asynccontextmanager
async def _connected(address):
    """A connection that is closed whatever happens."""
    reader, writer = await asyncio.open_connection(*address[:2])
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _post(address, path, values):
    """One request by hand: (status, document)."""
    host, port, _ = address
    body = json.dumps(values).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    async with _connected(address) as (reader, writer):
        writer.write(head.encode() + body)
        await writer.drain()
        answer = await reader.read()
    start, _, content = answer.partition(b"\r\n\r\n")
    return int(start.split()[1]), content


def test_two_hundred_at_once_are_answered_or_told_to_wait(address):
    async def storm():
        asked = [{"memory": "fixed:lags=1", "length": 8, "seed": i} for i in range(200)]
        return await asyncio.gather(*(_post(address, "/api/memory", values) for values in asked))

    found = asyncio.run(storm())
    statuses = [status for status, _ in found]
    assert set(statuses) == {200, 503}
    assert 4 <= statuses.count(200) <= 50  # the queue, and what was answered meanwhile
    assert all("ask again" in json.loads(body)["error"] for s, body in found if s == 503)
    # and it goes on
    assert asyncio.run(_post(address, "/api/memory", {"length": 9}))[0] == 200


def test_a_client_that_leaves_ends_its_work(address):
    _, _, service = address

    async def leave():
        host, port, _ = address
        before = service.pool.ended
        body = b'{"kernel": "power:1.1", "heads": 20}'
        head = (
            f"POST /api/fit HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        async with _connected(address) as (_, writer):
            writer.write(head.encode() + body)
            await writer.drain()
            await asyncio.sleep(0.5)
        for _ in range(200):
            if service.pool.ended > before:
                return True
            await asyncio.sleep(0.05)
        return False

    assert asyncio.run(leave())
    assert asyncio.run(_post(address, "/api/memory", {"length": 10}))[0] == 200


def test_a_request_that_never_comes_is_hung_up(address):
    async def drip():
        async with _connected(address) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nHo")
            await writer.drain()
            return await asyncio.wait_for(reader.read(), 20)

    assert asyncio.run(drip()) == b""


def test_a_huge_head_is_refused(address):
    async def shout():
        async with _connected(address) as (reader, writer):
            writer.write(b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000)
            with contextlib.suppress(ConnectionError):
                await writer.drain()
                return await asyncio.wait_for(reader.read(), 20)
        return b""  # it hung up

    assert asyncio.run(shout())[:12] in (b"HTTP/1.1 400", b"")


def test_addresses():
    assert "localhost:80" in hosts_of("127.0.0.1", 80)
    assert "[::1]:80" in hosts_of("::1", 80)
    assert "192.0.2.1:80" in hosts_of("192.0.2.1", 80)
    with pytest.raises(InputError, match="one address of this machine"):
        bound_socket("0.0.0.0", 0)
    taken = bound_socket("127.0.0.1", 0)
    taken.listen()
    with pytest.raises(InputError, match="free port"):
        bound_socket("127.0.0.1", taken.getsockname()[1])
    taken.close()


def test_what_is_known_does_not_wait_behind_what_is_computed(address):
    async def beside():
        known = {"length": 9}
        await _post(address, "/api/memory", known)
        slow = asyncio.ensure_future(_post(address, "/api/plan", {"memory": "fixed:lags=1+2+3"}))
        await asyncio.sleep(0.1)  # the only worker is at work
        status, _ = await _post(address, "/api/memory", known)
        first = not slow.done()
        slow.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await slow
        return status, first

    assert asyncio.run(beside()) == (200, True)


def test_who_never_reads_is_hung_up(address, root, monkeypatch):
    monkeypatch.setattr(servers, "READ_SECONDS", 0.3)
    page = root / "large" / "report.html"
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(b"x" * 15_000_000)

    async def stare():
        host, port, _ = address
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((host, port))
            head = f"GET /api/report?name=large/report.html HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
            client.sendall(head.encode())
            await asyncio.sleep(3)
            client.settimeout(10)
            size = 0
            with contextlib.suppress(ConnectionError):
                while part := client.recv(1 << 20):
                    size += len(part)
            return size

    assert asyncio.run(stare()) < 10_000_000
    page.unlink()


def test_what_no_route_sees_is_refused_as_json_too(address, monkeypatch):
    async def shout(text):
        async with _connected(address) as (reader, writer):
            writer.write(text)
            await writer.drain()
            start, _, body = (await asyncio.wait_for(reader.read(), 20)).partition(b"\r\n\r\n")
        return int(start.split()[1]), json.loads(body)["error"]

    assert asyncio.run(shout(b"nonsense\r\n\r\n"))[0] == 400
    monkeypatch.setattr(servers, "MOST_CONNECTIONS", 1)
    status, line = asyncio.run(shout(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    assert (status, line.split(";")[0]) == (503, "too many connections at once")
