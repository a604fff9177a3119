"""Draws docs/flow.svg from the chain of stages: .venv/airflow/bin/python docs/flow.py"""

from html import escape
from pathlib import Path

from trellis.workflow.assembly import chain
from trellis.workflow.spec.experiment import Experiment
from trellis.workflow.validation.file import load, with_changes

ROOT = Path(__file__).resolve().parents[1]

# Left edges of the lanes, and of the files.
LANES = {"Airflow": 12, "BigQuery": 158, "Dataflow": 304, "Vertex AI": 450}
FILES, WIDTH, END = 596, 140, 788
TOP, ROW, HEIGHT = 84, 46, 30

STYLE = """\
.card{fill:#fff;stroke:#cfd8dc}.lane{fill:#f4f7f8;stroke:#dde4e7}.files{fill:#fff8e6;stroke:#eee0b5}
.name{font-size:13px;font-weight:bold;fill:#455a64;text-anchor:middle}
.stage{fill:#fff;stroke:#00796b;stroke-width:1.5}.file{fill:#fff;stroke:#b58900}
.text{font-size:13px;fill:#1c262b;text-anchor:middle}
.mono{font-size:11.5px;fill:#5d4a00;text-anchor:middle}
.mono{font-family:DejaVu Sans Mono, Menlo, Consolas, monospace}
.edge{fill:none;stroke:#37474f;stroke-width:1.3;marker-end:url(#arrow)}
"""


def whole() -> Experiment:
    """An experiment that has every stage."""
    table = load(ROOT / "dags/experiments/breast-cancer.yaml")
    further = {
        ("train", "seeds"): 2,
        ("train", "ensemble"): True,
        ("train", "start"): "champion",
        ("deploy", "approve"): ["role:Op"],
        ("deploy", "within"): "12 hours",
        ("baselines", "files"): {"lab": "lab/predictions.parquet"},
    }
    every = with_changes(table, further)
    # No file may have folds, a service's model or an image that is not ours beside the others.
    train = every.train.model_copy(update={"folds": 3})
    deploy = every.deployment.model_copy(update={"allow": ("trainings", "bqml")})
    return every.model_copy(update={"train": train, "deploy": deploy, "image": "lab/program:1"})


def svg() -> str:
    """The figure: a row for each stage, in the lane of its service, with the files it writes."""
    experiment = whole()
    edges = _direct(chain.edges(experiment))
    stages = {stage.name: stage for stage in chain.STAGES if stage.when(experiment)}
    order = _sorted(list(stages), edges)
    y = {name: TOP + row * ROW for row, name in enumerate(order)}
    bottom = TOP + len(order) * ROW
    by_lane = "; ".join(
        f"{', '.join(n for n in order if stages[n].where == lane)} in {lane}" for lane in LANES
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {bottom + 12}" width="800" '
        f'height="{bottom + 12}" role="img" aria-labelledby="title desc" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">',
        '<title id="title">The stages of a run</title>',
        f'<desc id="desc">{escape(by_lane)}. Between the stages only files in Cloud Storage '
        "pass.</desc>",
        f"<style>\n{STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#37474f"/></marker></defs>',
        f'<rect class="card" x="1" y="1" width="798" height="{bottom + 10}" rx="10"/>',
        '<text class="name" x="400" y="26">'
        "dags/experiments/NAME.yaml and dags/platform.yaml make one DAG</text>",
    ]
    for lane, x in LANES.items():
        lines += _lane("lane", lane, x, WIDTH, bottom)
    lines += _lane("files", "Cloud Storage", FILES, END - FILES, bottom)
    x = {name: LANES[stages[name].where] for name in order}
    lines += [_edge(x[a], y[a], x[b], y[b]) for a, b in edges]
    for name in order:
        lines += _box("stage", "text", name, x[name] + 16, y[name], WIDTH - 32)
        files = stages[name].writes
        width = (END - FILES - 12 - 4 * (len(files) - 1)) / max(1, len(files))
        for n, file in enumerate(files):
            lines += _box("file", "mono", file, FILES + 6 + n * (width + 4), y[name], width)
    return "\n".join([*lines, "</svg>", ""])


def _direct(edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges that do not follow from others."""

    def leads(start: str, end: str) -> bool:
        return any(b == end or leads(b, end) for a, b in edges if a == start)

    return [(a, b) for a, b in edges if not any(leads(c, b) for start, c in edges if start == a)]


def _sorted(names: list[str], edges: list[tuple[str, str]]) -> list[str]:
    """The stages with each after those that it follows, otherwise in the chain's order."""
    placed: list[str] = []
    while len(placed) < len(names):
        done = set(placed)
        placed.append(
            next(
                name
                for name in names
                if name not in done and all(a in done for a, b in edges if b == name)
            )
        )
    return placed


def _lane(kind: str, title: str, x: float, width: float, bottom: float) -> list[str]:
    return [
        f'<rect class="{kind}" x="{x}" y="42" width="{width}" height="{bottom - 40}" rx="6"/>',
        f'<text class="name" x="{x + width / 2:g}" y="63">{title}</text>',
    ]


def _box(kind: str, font: str, text: str, x: float, y: float, width: float) -> list[str]:
    return [
        f'<rect class="{kind}" x="{x:g}" y="{y}" width="{width:g}" height="{HEIGHT}" rx="5"/>',
        f'<text class="{font}" x="{x + width / 2:g}" y="{y + 19.5:g}">{escape(text)}</text>',
    ]


def _edge(x1: float, y1: float, x2: float, y2: float) -> str:
    """A line from the bottom of one box to the top of another. It bends around the boxes between
    two of one lane.
    """
    start, end = y1 + HEIGHT, y2 - 1
    middle = WIDTH / 2
    bend = 90 if x1 == x2 and y2 - y1 > ROW else 0
    pull = min(60, (end - start) / 2)
    return (
        f'<path class="edge" d="M{x1 + middle:g} {start} C{x1 + middle - bend:g} {start + pull:g} '
        f'{x2 + middle - bend:g} {end - pull:g} {x2 + middle:g} {end}"/>'
    )


if __name__ == "__main__":
    (ROOT / "docs/flow.svg").write_text(svg())
