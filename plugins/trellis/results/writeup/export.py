"""`trellis export`: a run's figures, tables and texts as files of a folder.

FOLDER/figures/NAME.svg, .pdf, .png     each figure of the report
FOLDER/tables/NAME.csv, .tex            leaderboard, metrics, splits, trials, and what the run has
                                         of OPTIONAL; leaderboard.tex has the scores alone, a row a
                                         metric
FOLDER/methods.md, model-card.md, tripod-ai.md, trellis.bib
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from trellis.results.figure import FORMATS, require_drawing
from trellis.results.run import LoadedRun
from trellis.results.selection import NoRunError
from trellis.results.writeup import card, citation, methods, tripod
from trellis.results.writeup.facts import Facts
from trellis.results.writeup.scoring import scores_of
from trellis_contracts.dataset import SPLITS

TEXTS = {
    "methods.md": methods.text,
    "model-card.md": card.text,
    "tripod-ai.md": tripod.text,
    "trellis.bib": citation.text,
}

OPTIONAL = (
    "seeds",
    "folds",
    "importance",
    "slices",
    "calibration",
    "decisions",
    "decision_curve",
    "abstention",
    "coverage",
)
"""Frames of a run that it may not have."""


def export(run: LoadedRun, f: Facts, folder: Path) -> list[str]:
    """Write the files; returns a line for each kind. folder: must not exist, or be empty.

    Raises NoRunError if the folder has files, ImportError without what draws figures: nothing is
    written then.
    """
    if folder.exists() and any(folder.iterdir()):
        raise NoRunError(f"{folder} has files already: name an empty folder, or a new one")
    require_drawing()
    # The leaderboard has a column for each bound and hyperparameter: more than a page is wide.
    made = {
        name: (frame.to_csv(), _latex(_scores(f) if name == "leaderboard" else frame))
        for name, frame in _tables(run, f)
    }
    texts = {name: f"{make(f)}\n" for name, make in TEXTS.items()}
    figures, tables = folder / "figures", folder / "tables"
    for each in (figures, tables):
        each.mkdir(parents=True, exist_ok=True)
    try:
        names = run.figures
    except NoRunError as error:
        names, without = [], [f"No figures: {error}"]
    else:
        without = []
    files = file_names(names)
    for name in names:
        figure = run.figure(name)
        for form in FORMATS:
            figure.save(figures / f"{files[name]}{form}")
    for name, (comma_separated, tabular) in made.items():
        (tables / f"{name}.csv").write_text(comma_separated, encoding="utf-8")
        (tables / f"{name}.tex").write_text(tabular, encoding="utf-8")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [
        f"{figures}/: {len(names)} figures, each as {', '.join(form[1:] for form in FORMATS)}",
        *without,
        f"{tables}/: {', '.join(made)}, each as csv and tex",
        f"{folder}/: {', '.join(TEXTS)}",
    ]


def file_names(names: list[str]) -> dict[str, str]:
    """A file's name for each figure, without an ending: `calibration/training/1` becomes
    `calibration-training-1`; two figures have two names, also where case makes no difference.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "figure"
        file, n = plain, 2
        while file.casefold() in taken:
            file, n = f"{plain}-{n}", n + 1
        taken.add(file.casefold())
        found[name] = file
    return found


def _tables(run: LoadedRun, f: Facts) -> Iterator[tuple[str, pd.DataFrame]]:
    board = run.leaderboard()
    yield "leaderboard", board.dropna(axis="columns", how="all")
    yield "metrics", run.metrics()
    yield "splits", _splits(f)
    for model in f.trials:
        name = "trials" if model is None else f"trials-{model}"
        yield name, run.trials(model).dropna(axis="columns", how="all")
    for name in OPTIONAL:
        try:
            yield name, getattr(run, name)()
        except NoRunError:
            continue


def _scores(f: Facts) -> pd.DataFrame:
    """The contenders' scores with their intervals: a row a metric, a column a contender."""
    titles = [about.title for about in f.board.metrics.values()]
    columns = {one.name: scores_of(f, one) for one in f.ranked}
    return pd.DataFrame(columns, index=pd.Index(titles, name="metric"))


def _splits(f: Facts) -> pd.DataFrame:
    """Examples of each split, in all and by class."""
    rows = {
        split: {"examples": f.dataset.examples(split), **f.dataset.counts[split].classes}
        for split in SPLITS
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("split")


def _latex(frame: pd.DataFrame) -> str:
    """The frame as a tabular of the package booktabs."""
    return frame.to_latex(escape=True, na_rep="", float_format="%.6g")
