"""The explorer under 50 clients: time on the clock at the 50th and 99th percentile, for questions
that were asked before and for new ones, and for both at once.

A server with two workers in a process of its own, on a loopback port; clients keep their
connections, as browsers do. Cached: every client asks the same ten fits over and over. New: 50
clients ask together, each a memory that nobody asked before. Cached beside new: ten clients ask
what is known while the others keep both workers busy. The clock is what a user sees, so these
figures say something only where nothing else runs: the load is printed, and the CPU time that the
server took for an answer from memory, which says something anywhere.
"""

import asyncio
import json
import multiprocessing
import os
import statistics
import time
from typing import Any

CLIENTS, ROUNDS, NEW = 50, 10, 4
Question = tuple[str, dict[str, Any]]


def served(port: Any, cpu: Any) -> None:
    """The server's process: tells its port, then its CPU seconds whenever it is asked."""
    import threading

    import uvicorn

    from headcount.web.app import application
    from headcount.web.server import bound_socket, configuration, hosts_of

    listening = bound_socket("127.0.0.1", 0)
    number = listening.getsockname()[1]
    app = application(".", hosts_of("127.0.0.1", number), workers=2, waiting=2 * CLIENTS)
    server = uvicorn.Server(configuration(app))

    def told() -> None:
        while cpu.recv() == "cpu":
            cpu.send(time.process_time())
        server.should_exit = True

    threading.Thread(target=told, daemon=True).start()
    port.send(number)
    server.run([listening])


def main() -> None:
    context = multiprocessing.get_context("spawn")
    (port, theirs), (cpu, asked) = context.Pipe(), context.Pipe()
    process = context.Process(target=served, args=(theirs, asked))
    process.start()
    try:
        asyncio.run(measured(port.recv(), cpu))
    finally:
        cpu.send("end")
        process.join()


async def measured(port: int, cpu: Any) -> None:
    """Warm up, then every kind."""
    fits: list[Question] = [
        ("fit", {"kernel": f"lag:{t}", "heads": 1}) for t in range(1, ROUNDS + 1)
    ]
    await together(port, [fits])
    print(f"{CLIENTS} clients at once, load {os.getloadavg()[0]:.1f}")
    before = server_cpu(cpu)
    kept = await together(port, [fits * 5 for _ in range(CLIENTS)])
    told("cached fits", kept)
    each = 1000 * (server_cpu(cpu) - before) / len(kept)
    print(f"{'':26s} {each:.2f} ms of CPU per cached answer")
    told("new memories", await together(port, [new(c) for c in range(CLIENTS)]))
    busy = asyncio.ensure_future(together(port, [new(c) for c in range(CLIENTS, 2 * CLIENTS)]))
    beside = await together(port, [fits * 2 for _ in range(10)])
    told("cached, both workers busy", beside)
    await busy
    told("new memories, one client", await together(port, [new(3 * CLIENTS, 20)]))


def new(client: int, many: int = NEW) -> list[Question]:
    """Memories that no other client asks."""
    seeds = range(100 * client, 100 * client + many)
    return [("memory", {"memory": "fixed:lags=1+5", "seed": seed}) for seed in seeds]


def server_cpu(cpu: Any) -> float:
    cpu.send("cpu")
    return float(cpu.recv())


async def together(port: int, asked: list[list[Question]]) -> list[float]:
    """Every client asks its questions one after the other, all clients at once."""

    async def client(questions: list[Question]) -> list[float]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            return [await ask(port, reader, writer, *question) for question in questions]
        finally:
            writer.close()
            await writer.wait_closed()

    return [s for found in await asyncio.gather(*map(client, asked)) for s in found]


async def ask(
    port: int,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    name: str,
    values: dict[str, Any],
) -> float:
    """Seconds until the whole answer is there."""
    started = time.perf_counter()
    body = json.dumps(values).encode()
    head = (
        f"POST /api/{name} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    start = await reader.readuntil(b"\r\n\r\n")
    assert start.startswith(b"HTTP/1.1 200"), start
    sizes = [line for line in start.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    await reader.readexactly(int(sizes[0].split(b":")[1]))
    return time.perf_counter() - started


def told(name: str, seconds: list[float]) -> None:
    """Percentiles in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    print(
        f"{name:26s} {len(seconds):5d} answers   p50 {1000 * cuts[49]:7.1f} ms"
        f"   p99 {1000 * cuts[98]:7.1f} ms",
        flush=True,
    )
