"""The pages and their addresses. They only read; a user without the right to an experiment gets the
answer that there is none.
"""

import functools
import re
from pathlib import Path
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import FileResponse, HTMLResponse
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.responses import Response

from trellis.results import Index, load_index
from trellis.results.comparison import compare
from trellis.results.curves import load_curves
from trellis.results.files import RunFiles, load_files, read, with_contender
from trellis.results.index import run_folders
from trellis.results.live import load_live
from trellis.results.selection import NoRunError, Selection
from trellis.web import access, pages
from trellis.web.access import Place, Source
from trellis.web.cache import IndexCache
from trellis.workflow.contracts.layout import Run

STYLE = Path(__file__).with_name("style.css")
MOST_COMPARED = 8

# The form of layout.run_folder.
_FOLDER = re.compile(r"[A-Za-z0-9_.~-]+")

_POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
# A report is one file with its own styles and pictures. `sandbox`: whatever else is in it, no
# script of it runs, and it has no part in the session of who reads it.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'; sandbox"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # One person's view must not be cached for another.
    "Cache-Control": "no-store",
}


@functools.cache
def _client(connection: str) -> Any:
    """Return a client of Cloud Storage with the group's connection."""
    from airflow.providers.google.cloud.hooks.gcs import GCSHook

    return GCSHook(gcp_conn_id=connection).get_conn()


_indexes = IndexCache(lambda place: load_index(_client(place.connection), place.bucket))


def sources(user: GetUserDep) -> dict[str, Source]:
    """Return the places that the signed-in user may see. Whoever is not signed in gets no
    further.
    """
    return access.visible(user)


Sources = Annotated[dict[str, Source], Depends(sources)]

app = FastAPI(title="Trellis", docs_url=None, redoc_url=None, openapi_url=None)


@app.get("/")
def overview(
    request: Request,
    seen: Sources,
    selection: Annotated[Selection, Depends()],
    page: Annotated[int, Query(ge=1)] = 1,
) -> HTMLResponse:
    """All experiments and runs."""
    return HTMLResponse(pages.overview(request, list(seen), _index(seen), selection, page))


@app.get("/experiments/{name}")
def experiment(
    request: Request,
    seen: Sources,
    name: str,
    selection: Annotated[Selection, Depends()],
    page: Annotated[int, Query(ge=1)] = 1,
) -> HTMLResponse:
    """The history of one experiment."""
    index = _index({name: _source(seen, name)})
    return HTMLResponse(pages.experiment(request, name, index, selection, page))


@app.get("/experiments/{name}/missing")
def missing(request: Request, seen: Sources, name: str) -> HTMLResponse:
    """Show the experiment's runs that are not in the index."""
    source = _source(seen, name)
    known = {run.folder for run in _index({name: source}).runs}
    place = source.place
    folders = run_folders(_client(place.connection), place.bucket, source.experiment)
    found = [folder for folder in folders if folder not in known]
    return HTMLResponse(pages.missing(request, name, found))


@app.get("/experiments/{name}/runs/{folder}")
def run(request: Request, seen: Sources, name: str, folder: str) -> HTMLResponse:
    """One run."""
    files = _files(seen, name, folder)
    records = {record.folder: record for record in _index({name: seen[name]}).runs}
    # The leaderboard has what they came to.
    client = _client(_source(seen, name).place.connection)
    learners = [] if files.leaderboard else load_live(client, files.run)
    return HTMLResponse(pages.run(request, name, records.get(folder), files, learners))


@app.get("/experiments/{name}/runs/{folder}/report")
def report(seen: Sources, name: str, folder: str) -> HTMLResponse:
    """The report that the run's comparison wrote."""
    place, run = _run(seen, name, folder)
    content = read(_client(place.connection), run.report)
    if content is None:
        raise HTTPException(404, "This run has no report.")
    return HTMLResponse(content, headers={"Content-Security-Policy": _REPORT_POLICY})


@app.get("/compare")
def comparison(
    request: Request, seen: Sources, run: Annotated[list[str] | None, Query()] = None
) -> HTMLResponse:
    """Several side by side. run: EXPERIMENT/FOLDER of each, or EXPERIMENT/FOLDER/CONTENDER."""
    chosen = [pages.Side.of(one) for one in dict.fromkeys(run or ())]
    if not 2 <= len(chosen) <= MOST_COMPARED:
        raise HTTPException(400, f"Choose 2 to {MOST_COMPARED}, not {len(chosen)}.")
    try:
        files = [
            with_contender(_files(seen, side.name, side.folder), side.contender) for side in chosen
        ]
    except NoRunError as error:
        raise HTTPException(404, str(error)) from error
    clients = [_client(_source(seen, side.name).place.connection) for side in chosen]
    curves = load_curves(list(zip(clients, files, strict=True)))
    return HTMLResponse(pages.comparison(request, chosen, files, compare(files), curves))


@app.get("/style.css")
def style() -> FileResponse:
    """Return the style sheet, the same for everybody."""
    return FileResponse(STYLE, media_type="text/css", headers={"Cache-Control": "max-age=3600"})


@app.exception_handler(AnyHTTPException)
def refused(request: Request, error: AnyHTTPException) -> HTMLResponse:
    """Show why there is no page."""
    login = None
    if error.status_code == 401:
        login = get_auth_manager().get_url_login(next_url=str(request.url))
    page = pages.message(request, str(error.detail), login)
    return HTMLResponse(page, error.status_code)


@app.middleware("http")
async def protect(request: Request, call_next: Any) -> Response:
    """The headers of every answer."""
    response: Response = await call_next(request)
    for name, value in {"Content-Security-Policy": _POLICY, **_HEADERS}.items():
        response.headers.setdefault(name, value)
    return response


def _index(seen: dict[str, Source]) -> Index:
    """The records of these experiments, newest first."""
    found = []
    for place in dict.fromkeys(source.place for source in seen.values()):
        names = {s.experiment: name for name, s in seen.items() if s.place == place}
        try:
            found.append(_indexes.get(place).named(names))
        except Exception as error:
            raise _unreadable(place, error) from error
    if len(found) == 1:
        return found[0]
    return Index.of(
        (run for index in found for run in index.runs),
        (champion for index in found for champion in index.champions),
        (name for index in found for name in index.unreadable),
        min((index.at for index in found), default=""),
        (one for index in found for one in index.predictions),
    )


def _run(seen: dict[str, Source], name: str, folder: str) -> tuple[Place, Run]:
    """A run that the user may see, if there is one. Raises HTTPException 404."""
    source = _source(seen, name)
    if not _FOLDER.fullmatch(folder) or not folder.strip("."):
        raise HTTPException(404, f"{name} has no run {folder}.")
    return source.place, Run(source.place.bucket, source.experiment, folder)


def _files(seen: dict[str, Source], name: str, folder: str) -> RunFiles:
    """Return the files of a run, in the index or not. Raises HTTPException 404."""
    place, run = _run(seen, name, folder)
    try:
        files = load_files(_client(place.connection), run)
    except Exception as error:
        raise _unreadable(place, error) from error
    if files.plan is None and files.leaderboard is None and not files.problems:
        raise HTTPException(404, f"{name} has no run {folder}.")
    return files


def _source(seen: dict[str, Source], name: str) -> Source:
    if name not in seen:
        raise HTTPException(
            404, f"There is no experiment {name} with a run, or you may not see its runs."
        )
    return seen[name]


def _unreadable(place: Place, error: Exception) -> HTTPException:
    """Google refuses, or there are no credentials: a person must know which bucket and who asks."""
    return HTTPException(
        502,
        f"Airflow's api-server cannot read gs://{place.bucket} with the connection "
        f"{place.connection}: {getattr(error, 'message', None) or error}. It needs the role "
        "storage.objectViewer there.",
    )
