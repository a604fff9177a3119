"""Gathers and renders the contents of the pages."""

import functools
import os
import shlex
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from fastapi import Request
from markupsafe import Markup

from trellis import console
from trellis.results import Index
from trellis.results.comparison import Comparison
from trellis.results.curves import Curves, speeds
from trellis.results.files import RunFiles
from trellis.results.history import Change, asked, months, number, predicted, served
from trellis.results.live import Learner
from trellis.results.scores import Scored, places, score
from trellis.results.selection import FILTERS, ORDERS, Selection
from trellis.web import access, charts
from trellis.web.stages import load_stages
from trellis.workflow.contracts.record import RunRecord

PAGE = 50
"""Runs of a list that are shown at once."""

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Line:
    """An experiment in the list of all. newest: its newest run. best: its newest with a result."""

    name: str
    owner: str
    task: str
    runs: int
    newest: RunRecord
    best: RunRecord | None
    champion: Change | None


@dataclass(frozen=True)
class Side:
    """One of several side by side. name: of its DAG. contender: empty for winner and selected
    training.
    """

    name: str
    folder: str
    contender: str

    @classmethod
    def of(cls, address: str) -> "Side":
        """address: NAME/FOLDER or NAME/FOLDER/CONTENDER."""
        name, folder, contender, *_ = [*address.split("/", 2), "", ""]
        return cls(name, folder, contender)


@dataclass(frozen=True)
class Shown:
    """One page of a list of runs. states: Airflow's, by (experiment, run id). chosen: what was
    asked for, filters, search and order.
    """

    runs: Sequence[RunRecord]
    states: Mapping[tuple[str, str], str]
    total: int
    number: int
    chosen: Mapping[str, str]

    @property
    def query(self) -> str:
        """What was asked for, in an address."""
        return urlencode(self.chosen)

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE))


def overview(
    request: Request, experiments: Sequence[str], index: Index, selection: Selection, page: int
) -> str:
    """All experiments. experiments: those that the user may see."""
    found = selection.of(index.runs)
    chosen = _chosen(selection)
    return _render(
        request,
        "overview",
        experiments=experiments,
        lines=_lines(found, served(index)),
        list=_shown(found, page, chosen),
        months=months(found),
        filters={name: _choices(index.runs, name) for name in FILTERS},
        chosen=chosen,
        unreadable=index.unreadable,
        at=index.at,
    )


def experiment(request: Request, name: str, index: Index, selection: Selection, page: int) -> str:
    """One experiment."""
    changes = served(index)
    return _render(
        request,
        "experiment",
        name=name,
        newest=index.runs[0] if index.runs else None,
        history=charts.history(index.runs),
        changes=changes[:PAGE],
        older=len(changes[PAGE:]),
        predictions=predicted(index)[:PAGE],
        performance=charts.performance(predicted(index)),
        asked=asked(index)[:PAGE],
        list=_shown(selection.of(index.runs), page, _chosen(selection)),
        months=months(index.runs),
        unreadable=index.unreadable,
        at=index.at,
    )


def missing(request: Request, name: str, folders: Sequence[str]) -> str:
    """Runs of an experiment that are not in the index."""
    return _render(request, "missing", name=name, folders=folders)


def run(
    request: Request,
    name: str,
    record: RunRecord | None,
    files: RunFiles,
    learners: Sequence[Learner],
) -> str:
    """One run. name: of its DAG. record: None if it is not in the index. learners: its trials and
    trainings, until they are compared.
    """
    plan = files.plan
    run_id = plan.run_id if plan else None
    key = (name, run_id or "")
    return _render(
        request,
        "run",
        name=name,
        record=record,
        run=files.run,
        run_id=run_id,
        state=access.states([key]).get(key),
        stages=load_stages(*key),
        plan=plan,
        board=files.leaderboard,
        served=files.served,
        deployment=files.deployment,
        approval=files.approval,
        problems=files.problems,
        exported=files.exported,
        logged=files.logged,
        learners=learners,
        learning=charts.underway(learners),
    )


def comparison(
    request: Request,
    chosen: Sequence[Side],
    files: Sequence[RunFiles],
    found: Comparison,
    curves: Curves | None,
) -> str:
    """Runs, or contenders of them, side by side."""
    return _render(
        request,
        "compare",
        chosen=chosen,
        files=files,
        found=found,
        learning=charts.learning(curves) if curves else None,
        metric=curves.metric if curves else None,
        speeds=speeds(curves.curves) if curves else {},
        learned=sum(curve is not None for curve in curves.curves) if curves else 0,
    )


def message(request: Request, text: str, login: str | None) -> str:
    """Explain why there is no page. login: the address to sign in at, if the user is not signed
    in.
    """
    return _render(request, "message", text=text, login=login)


def _lines(runs: Sequence[RunRecord], changes: Sequence[Change]) -> list[Line]:
    by_name: dict[str, list[RunRecord]] = defaultdict(list)
    for record in runs:
        by_name[record.experiment].append(record)
    champions: dict[str, Change] = {}
    for change in changes:
        if change.changed and change.how != "retreated":
            champions.setdefault(change.experiment, change)
    return [
        Line(
            name,
            own[0].owner,
            own[0].task,
            len(own),
            own[0],
            next((r for r in own if r.result), None),
            champions.get(name),
        )
        for name, own in sorted(by_name.items())
    ]


def _shown(runs: Sequence[RunRecord], page: int, chosen: Mapping[str, str]) -> Shown:
    part = runs[(page - 1) * PAGE : page * PAGE]
    states = access.states([(record.experiment, record.run_id) for record in part])
    return Shown(part, states, len(runs), page, chosen)


def _chosen(selection: Selection) -> dict[str, str]:
    """What was asked for, without what is so anyway."""
    default = asdict(Selection())
    return {name: value for name, value in asdict(selection).items() if value != default[name]}


def _choices(runs: Sequence[RunRecord], name: str) -> list[str]:
    if name == "tag":
        return sorted({tag for record in runs for tag in record.tags})
    return sorted({getattr(record, name) for record in runs})


def _render(request: Request, template: str, **values: Any) -> str:
    """root: address of these pages; airflow: of Airflow's own."""
    scope = request.scope
    root = scope.get("root_path", "")
    airflow = scope.get("app_root_path", "")
    page = _environment().get_template(f"{template}.html.j2")
    return page.render(root=root, airflow=airflow, orders=ORDERS, **values)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "segment": lambda text: quote(text, safe=""),
        "moment": lambda iso: iso[:16].replace("T", " ") if iso else "",
        "usd": lambda amount: f"{amount:,.2f}",
        "score": _score,
        "gap": functools.partial(_score, signed=True),
        "version": number,
        "duration": _duration,
        "places": lambda value, decimals: f"{value:.{places(decimals)}f}",
        "console": console.vertex,
        "bucket": console.bucket,
        "tensorboard": _tensorboard,
        "drawn": lambda figure: Markup(charts.drawn(figure)),
    }
    return environment


def _duration(seconds: float) -> str:
    """`40 s`, `12 minutes` or `2.5 hours`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def _tensorboard(uri: str) -> str:
    """The command that shows the logs below a gs:// folder. In a local run the bucket is a folder,
    and TensorBoard is in the environment that trains.
    """
    root = os.environ.get("GCS_ROOT")
    if not root:
        return f"tensorboard --logdir {shlex.quote(uri)}"
    program = Path(sys.prefix).parent / "trainer/bin/tensorboard"
    folder = Path(root, uri.removeprefix("gs://"))
    return shlex.join([str(program if program.exists() else program.name), "--logdir", str(folder)])


def _score(found: Scored, decimals: int, signed: bool = False) -> str:
    """A line may end before the interval, not within it."""
    return score(found, decimals, signed).replace(", ", ",\N{NO-BREAK SPACE}")
