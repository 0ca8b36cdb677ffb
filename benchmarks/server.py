"""The explorer under 50 clients: time on the clock at the 50th and 99th percentile, for questions
that were asked before and for new ones.

A server of its own with two workers on a loopback port. Cached: every client asks the same 50 fits
over and over. New: 50 clients ask together, each a memory that nobody asked before. The clock is
what a user sees, so these figures say something only where nothing else runs: the load is printed.
"""

import asyncio
import json
import os
import statistics
import threading
import time

CLIENTS, ROUNDS, NEW = 50, 10, 4


def main() -> None:
    import uvicorn

    from headcount.web.app import application
    from headcount.web.server import bound_socket, configuration, hosts_of

    listening = bound_socket("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = application(".", hosts_of("127.0.0.1", port), workers=2, waiting=2 * CLIENTS)
    server = uvicorn.Server(configuration(app))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    try:
        asyncio.run(measured(port))
    finally:
        server.should_exit = True
        thread.join()


async def measured(port: int) -> None:
    """Warm up, then both kinds."""
    fits = [{"kernel": f"lag:{t}", "heads": 1} for t in range(1, 51)]
    for fit in fits:
        await ask(port, "fit", fit)
    print(f"{CLIENTS} clients at once, load {os.getloadavg()[0]:.1f}")
    kept = await together(port, [[("fit", fit) for fit in fits[:ROUNDS]] for _ in range(CLIENTS)])
    told("cached fits", kept)
    new = [
        [("memory", {"memory": "fixed:lags=1+5", "seed": NEW * c + i}) for i in range(NEW)]
        for c in range(CLIENTS)
    ]
    told("new memories", await together(port, new))
    alone = await together(port, [[("memory", {"seed": 10_000 + i}) for i in range(20)]])
    told("new memories, one client", alone)


async def together(port: int, asked: list[list[tuple[str, dict]]]) -> list[float]:
    """Every client asks its questions one after the other, all clients at once."""

    async def client(questions: list[tuple[str, dict]]) -> list[float]:
        return [await ask(port, name, values) for name, values in questions]

    return [s for found in await asyncio.gather(*map(client, asked)) for s in found]


async def ask(port: int, name: str, values: dict) -> float:
    """One question over a connection of its own: seconds until the whole answer is there."""
    started = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps(values).encode()
    head = (
        f"POST /api/{name} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 200"), answer[:200]
    return time.perf_counter() - started


def told(name: str, seconds: list[float]) -> None:
    """Percentiles in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    print(
        f"{name:26s} {len(seconds):5d} answers   p50 {1000 * cuts[49]:7.1f} ms"
        f"   p99 {1000 * cuts[98]:7.1f} ms"
    )
