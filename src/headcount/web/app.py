"""The routes of the explorer. Each is thin: read, check, ask, send.

    GET  /                    the page and its files
    GET  /api/catalogue       what can be chosen
    GET  /api/found           models, stores and reports below the root
    GET  /api/openapi.json    this interface
    GET  /api/figure?name=&face=  one SVG of a report below the root, in light or dark colours
    GET  /api/report          one report.html below the root
    POST /api/draft | bound | fit | memory | plan | model | runs | study     JSON in, JSON out
    POST /api/build           JSON in, a zip out
    POST /api/sweep           stop a sweep, or continue it
    POST /api/diagnose?name=&column=  a file in, JSON out

What goes wrong is one line, {"error": …}: 400 no JSON, 408 too slow, 413 too large, 415 of another
type, 422 not what was expected, 503 too many questions, 504 out of time.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from headcount.core.errors import InputError
from headcount.core.spec import Spec
from headcount.report.palette import darkened
from headcount.web import asked
from headcount.web.asked import LONGEST_TEXT
from headcount.web.assets_folder import assets
from headcount.web.guard import (
    BODY_BYTES,
    FILE_BYTES,
    Guard,
    Refused,
    Room,
    body_of,
    parsed,
    refusal,
)
from headcount.web.openapi import document
from headcount.web.pool import Busy, Died, Down, Late, Pool
from headcount.web.root import Root
from headcount.web.service import Service
from headcount.web.sweeps import Sweeps
from headcount.web.work_words import ANSWERED, REFUSED

QUESTIONS: dict[str, type[Spec]] = {
    "draft": asked.AskDraft,
    "bound": asked.AskBound,
    "fit": asked.AskFit,
    "memory": asked.AskMemory,
    "plan": asked.AskPlan,
    "build": asked.AskBuild,
    "model": asked.AskModel,
    "runs": asked.AskRuns,
    "study": asked.AskStudy,
    "sweep": asked.AskSweep,
}
WORKERS, WAITING = 2, 48
SMALL_BODY = 4096  # bytes
LARGEST_FIGURE = 4 * 2**20
LARGEST_REPORT = 16 * 2**20
# a page of its own that runs nothing and asks nobody: only its own styles and pictures
ALONE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
GONE = 499  # nobody reads this answer


def application(
    root: str | Path = ".",
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1"),
    workers: int = WORKERS,
    waiting: int = WAITING,
    acting: bool = True,
) -> Guard:
    """The ASGI application. `hosts` are the values of Host that it answers to; where others are
    let in, `acting` is false, and nobody stops or continues a sweep.
    """
    opened = Root(root)
    explorer = _Explorer(opened, Pool(workers, waiting, str(opened.folder)), acting)
    app = Starlette(
        routes=explorer.routes(),
        lifespan=explorer.lifespan,
        exception_handlers={HTTPException: _missing},  # type: ignore[dict-item]
    )
    app.mount("/", StaticFiles(directory=assets(), html=True))
    app.state.service, app.state.sweeps = explorer.service, explorer.sweeps
    return Guard(app, hosts)


class _Explorer:
    """What the routes share: the folder that is open, the workers that answer, running sweeps."""

    def __init__(self, opened: Root, pool: Pool, acting: bool):
        self.opened, self.pool, self.acting = opened, pool, acting
        self.service, self.sweeps, self.room = Service(pool), Sweeps(), Room()

    def routes(self) -> list[Route]:
        return [
            Route("/api/catalogue", _kindly(self.catalogue)),
            Route("/api/found", _kindly(self.found)),
            Route("/api/openapi.json", _kindly(self.schema)),
            Route("/api/figure", _kindly(self.figure)),
            Route("/api/report", _kindly(self.report)),
            Route("/api/diagnose", _kindly(self.diagnose), methods=["POST"]),
            Route("/api/{question}", _kindly(self.question), methods=["POST"]),
        ]

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.pool.start()
        try:
            yield
        finally:
            self.sweeps.close()
            self.pool.close()

    async def catalogue(self, request: Request) -> Response:
        return await _answered(request, self.service, "catalogue", {})

    async def found(self, request: Request) -> Response:
        return JSONResponse(await asyncio.to_thread(_found, self.opened))

    async def schema(self, request: Request) -> Response:
        return JSONResponse(document(QUESTIONS))

    async def figure(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        dark = request.query_params.get("face", "") == "dark"
        return await asyncio.to_thread(_figure, self.opened, name, dark)

    async def report(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        return await asyncio.to_thread(_report, self.opened, name)

    async def question(self, request: Request) -> Response:
        name = request.path_params["question"]
        if name not in QUESTIONS:
            raise Refused(404, f"no question {name[:40]!r}; see /api/openapi.json")
        _typed(request, "application/json")
        body = await body_of(request, BODY_BYTES)
        # a large body is read while others are served; a thread costs more than a small one
        small = len(body) <= SMALL_BODY
        values = parsed(body) if small else await asyncio.to_thread(parsed, body)
        record = QUESTIONS[name](**values)
        if isinstance(record, asked.AskRuns):
            return await self._runs(request, record)
        if not isinstance(record, asked.AskSweep):
            return await _answered(request, self.service, name, record.to_plain())
        if not self.acting:
            raise Refused(403, "sweeps are stopped and continued on a loopback address only")
        answer = await _answered(request, self.service, name, record.to_plain())
        if record.act == "continue" and answer.status_code == 200:
            self.sweeps.start(self.opened.inside(record.store))
        return answer

    async def _runs(self, request: Request, record: asked.AskRuns) -> Response:
        """With why a continuation of this store failed, where it did."""
        answer = await _answered(request, self.service, "runs", record.to_plain())
        if answer.status_code != 200:
            return answer
        failure = self.sweeps.failure(self.opened.inside(record.store))
        if failure is None:
            return answer
        told = json.loads(bytes(answer.body)) | {"continue_failed": failure}
        return _sent("runs", json.dumps(told, separators=(",", ":")).encode(), False)

    async def diagnose(self, request: Request) -> Response:
        _typed(request, "application/octet-stream")
        name = request.query_params.get("name", "")[-80:]
        with self.room.holding(request, FILE_BYTES):
            content = await body_of(request, FILE_BYTES)
            if not content:
                raise Refused(422, "an empty file; expected sequences; choose another file")
            column = request.query_params.get("column", "").strip()[:LONGEST_TEXT]
            values = {"name": name, "content": content, "column": column}
            return await _answered(request, self.service, "diagnose", values)


def _kindly(
    route: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """The route, with everything that may be refused as one line."""

    async def answer(request: Request) -> Response:
        try:
            return await route(request)
        except InputError as error:
            refused = refusal(error)
        except Refused as error:
            refused = error
        except Busy:
            refused = Refused(503, "too many questions at once; ask again in a moment")
        except Down:
            line = "no worker process can be started; the server tries again, its terminal says why"
            refused = Refused(503, line)
        except Late:
            refused = Refused(504, "no answer within the time limit; ask something smaller")
        except Died:
            refused = Refused(422, "the computation was ended by the system; ask something smaller")
        except (ClientDisconnect, asyncio.CancelledError):
            return Response(status_code=GONE)
        except Exception as error:
            print(f"error: {type(error).__name__} in {request.url.path}", file=sys.stderr)
            refused = Refused(500, f"the server failed ({type(error).__name__}); this is a bug")
        headers = {"retry-after": "2"} if refused.status == 503 else None
        return JSONResponse({"error": refused.line}, refused.status, headers)

    return answer


async def _missing(request: Request, error: HTTPException) -> Response:
    line = {404: "nothing is here", 405: "another method is needed"}.get(
        error.status_code, "the request cannot be served"
    )
    return JSONResponse({"error": line}, error.status_code, error.headers)


def _typed(request: Request, wanted: str) -> None:
    """A simple form of another site cannot send these types unasked."""
    given = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if given != wanted:
        raise Refused(415, f"content of type {given[:60]!r}; expected {wanted}")


async def _answered(
    request: Request, service: Service, question: str, values: dict[str, Any]
) -> Response:
    """The answer from memory, or of a worker; its work ends when the client leaves."""
    known = service.known(question, values)
    if known is not None:
        return _sent(question, known, True)
    asking = asyncio.ensure_future(service.ask(question, values))
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            return Response(status_code=GONE)
        word, content = asking.result()
    finally:
        for task in (asking, leaving):
            if not task.done():
                task.cancel()
    if word != ANSWERED:
        status = 422 if word == REFUSED else 500
        return JSONResponse({"error": content.decode()}, status)
    return _sent(question, content, False)


def _sent(question: str, content: bytes, kept: bool) -> Response:
    """The answer; whether it was known before is in its head."""
    headers = {"x-from-memory": "yes" if kept else "no", "cache-control": "no-store"}
    if question == "build":
        headers["content-disposition"] = 'attachment; filename="model.zip"'
        return Response(content, 200, headers, "application/zip")
    return Response(content, 200, headers, "application/json")


async def _left(request: Request) -> None:
    """Returns when the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _found(root: Root) -> dict[str, Any]:
    name = root.folder.name.encode(errors="replace").decode()
    return {
        "root": name,
        "models": root.holding("config.json", "model.safetensors"),
        "stores": root.ending(".sqlite"),
        "studies": sorted({*root.holding("verdicts.json"), *root.holding("result.json")}),
    }


def _figure(root: Root, name: str, dark: bool) -> Response:
    """An SVG of a report as a picture: in an <img> it runs nothing, and opened alone its policy
    forbids everything. Drawn in the light colours of the palette, it is shown in either.
    """
    path = root.inside(name)
    good = path.suffix == ".svg" and path.is_file() and path.stat().st_size <= LARGEST_FIGURE
    if not good:
        raise Refused(404, "no such figure; expected the name of an SVG below the opened folder")
    if not dark:
        return _file(path, "image/svg+xml")
    drawn = darkened(path.read_bytes())
    return Response(drawn, 200, {"content-security-policy": ALONE}, "image/svg+xml")


def _report(root: Root, name: str) -> Response:
    """The page that `reproduce` or a study wrote; whatever lies there, it runs nothing."""
    path = root.inside(name)
    good = path.name == "report.html" and path.is_file() and path.stat().st_size <= LARGEST_REPORT
    if not good:
        raise Refused(404, "no such report; expected a report.html below the opened folder")
    return _file(path, "text/html")


def _file(path: Path, kind: str) -> Response:
    """Read while it is sent: a client that is slow to read keeps little in memory."""
    return FileResponse(path, 200, {"content-security-policy": ALONE}, kind)
