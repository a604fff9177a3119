"""One run in a researcher's hands: its files as pandas frames, its model by one call.

    import trellis

    run = trellis.load_run("gs://bucket/digits/runs/manual__2026-05-01/")
    run.leaderboard()                          # the contenders
    run.predictions().join(run.rows())         # what the winner said of which row or image
    run.figure("roc").save("roc.pdf")          # a figure of the report, for a paper
    model = run.model("training/1")            # needs TensorFlow; nothing else here does
    model.predict(run.rows())                  # as the endpoint answers

Needs neither Airflow nor TensorFlow; docs/how-to/results.md has the packages. Frames are read from
the bucket when they are asked for.
"""

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trellis.google_api import check_emulator
from trellis.results.board_frames import BoardFrames, parameters
from trellis.results.figure import Figure
from trellis.results.files import RunFiles, each_blob, load_files, read, read_file
from trellis.results.model import LoadedModel
from trellis.results.selection import NoRunError
from trellis.workflow.contracts import layout
from trellis.workflow.lookups import predicted
from trellis_contracts import saved_model
from trellis_contracts.charts import DECISION_CURVE, TREAT_ALL
from trellis_contracts.columns import REJECTED, WEIGHT
from trellis_contracts.deployment import Deployment
from trellis_contracts.documents import ContractError, check
from trellis_contracts.files import F
from trellis_contracts.layout import metrics, predictions, trained_model
from trellis_contracts.leaderboard import Leaderboard
from trellis_contracts.plan import PlanFile
from trellis_contracts.training import Training
from trellis_contracts.trials import Trials

_ADDRESS = re.compile(r"gs://(?P<bucket>[^/]+)/(?P<experiment>[^/]+)/runs/(?P<folder>[^/]+)/?")


def load_run(uri: str, client: Any = None) -> "LoadedRun":
    """The run whose folder is gs://BUCKET/EXPERIMENT/runs/RUN/.

    client: google.cloud.storage.Client; None: one with application-default credentials. Raises
    NoRunError if there is no run, ContractError for a file that this version of Trellis cannot
    read, UnreachableError and Google's exceptions.
    """
    found = _ADDRESS.fullmatch(uri)
    if found is None:
        raise NoRunError(f"{uri!r} is no folder of a run, gs://BUCKET/EXPERIMENT/runs/RUN/")
    if client is None:
        from google.cloud.storage import Client

        check_emulator()
        client = Client()
    return of_files(client, load_files(client, layout.Run(**found.groupdict())), uri)


def of_files(client: Any, files: RunFiles, uri: str) -> "LoadedRun":
    """The run in the folder `uri`, whose files were read. Raises as load_run does."""
    if files.problems:
        raise ContractError("; ".join(files.problems))
    if files.plan is None:
        raise NoRunError(f"there is no run in {uri}: it has no plan.json")
    return LoadedRun(client, files, files.plan)


@dataclass(frozen=True, repr=False)
class LoadedRun(BoardFrames):
    """A run of an experiment.

    Methods raise NoRunError if the run has not got as far as what they return.
    """

    _client: Any
    _files: RunFiles
    _plan: PlanFile

    def __repr__(self) -> str:
        """Describe the run and its end for a notebook."""
        settings = self._plan.configuration
        summary = f"{settings['model']} for {settings['task']}, dataset {self._plan.dataset.uri}"
        if self._files.leaderboard is None:
            return f"<LoadedRun {self.uri}: {summary}; it has not ended, or failed>"
        board = self._board
        ranked = [one for one in board.contenders if one.rank]
        metric = board.primary_metric
        score = board.first.metrics[metric]
        return (
            f"<LoadedRun {self.uri}: {summary}; of {len(ranked)} contenders {self.winner} won, "
            f"{metric} {score.value:.4g} [{score.low:.4g}, {score.high:.4g}]>"
        )

    @property
    def uri(self) -> str:
        """The run's folder."""
        return self._files.run.uri

    @property
    def plan(self) -> Mapping[str, Any]:
        """The content of plan.json, with the experiment file as this run had it."""
        return self._plan.to_document()

    @property
    def _board(self) -> Leaderboard:
        if self._files.leaderboard is None:
            raise NoRunError(f"{self.uri} has no leaderboard: the run has not ended, or failed")
        return self._files.leaderboard

    @property
    def _deployment(self) -> Deployment | None:
        return self._files.deployment

    @property
    def dataset(self) -> Mapping[str, Any]:
        """The content of dataset.json."""
        return self._document("dataset", layout.dataset_mark(self._plan.dataset.uri))

    def trials(self, model: str | None = None) -> pd.DataFrame:
        """A row for each trial of the tuning, by its id.

        model: one of the experiment's `other_models`; None: of its `model`.

        Columns: state, rank (of those that were trained in full), value of the tuning's metric,
        loss and step of the measurement, start, end, and parameters.NAME. Raises NoRunError for an
        experiment without `tune`.
        """
        settings = self._plan.configuration
        if "tune" not in settings:
            raise NoRunError(f"{self.uri} has no trials: the experiment is without `tune`")
        if model == settings["model"]:
            model = None
        if model is not None and not settings.get("other_models", {}).get(model, {}).get("search"):
            raise NoRunError(f"{self.uri} has no trials of {model}")
        found = self._file_of(Trials, self._files.run.trials_of(model))
        ranks = {chosen.trial: chosen.rank for chosen in found.chosen}
        rows = []
        for trial in found.trials:
            row = {"trial": trial.id, "state": trial.state, "rank": ranks.get(trial.id)}
            row |= {name: getattr(trial.final, name, None) for name in ("value", "loss", "step")}
            row |= {name: pd.to_datetime(getattr(trial, name)) for name in ("start", "end")}
            rows.append(row | parameters(trial.parameters))
        return pd.DataFrame(rows).set_index("trial")

    def curves(self) -> pd.DataFrame:
        """A row for each epoch of each full training, as its metrics.json has them.

        Columns: name of the training, epoch, learning_rate, seconds, loss, val_loss, and the
        metrics in the same way.
        """
        frames = []
        for contender in self._board.contenders:
            if contender.kind == "training" and contender.training is not None:
                found = self._file_of(Training, metrics(self._files.run.contender(contender.name)))
                frames.append(pd.DataFrame(list(found.history)).assign(name=contender.name))
        if not frames:
            raise NoRunError(f"{self.uri} has no training that ended")
        joined = pd.concat(frames, ignore_index=True)
        return joined[["name", *joined.columns.drop("name")]]

    @property
    def figures(self) -> list[str]:
        """Names of the report's figures, in its order."""
        return list(self._document("figures", self._files.run.figures)["figures"])

    def figure(self, name: str) -> Figure:
        """One of the report's figures with its data: a Vega-Lite specification.

        name: one of `figures`: ranking, differences, roc, precision_recall, calibration/CONTENDER,
        confusion/CONTENDER, loss/TRAINING, trials/MODEL, ... Raises KeyError for another name, and
        NoRunError where there are none: the run's comparison has not ended, or its image is older
        than figures.json.
        """
        found = self._document("figures", self._files.run.figures)["figures"]
        if name not in found:
            raise KeyError(f"{self.uri} has no figure {name!r}; it has {', '.join(found)}")
        return Figure(name, found[name])

    def decision_curve(self) -> pd.DataFrame:
        """Net benefit on the test split of deciding above each threshold, by threshold.

        Columns: each contender, and TREAT_ALL, if all examples were decided as positive; for none
        it is 0. Raises NoRunError without `decision`.
        """
        if DECISION_CURVE not in self.figures:
            raise NoRunError(f"{self.uri} has no decision curve: no training has a `decision`")
        figure = self.figure(DECISION_CURVE)
        of_all = next(one for one in figure.specification["layer"] if one.get("name") == TREAT_ALL)
        frame = figure.data.pivot(index="x", columns="curve", values="y")
        frame[TREAT_ALL] = pd.DataFrame(of_all["data"]["values"]).set_index("x")["y"]
        return frame.rename_axis(index="threshold", columns=None)

    def predictions(self, contender: str | None = None) -> pd.DataFrame:
        """Predictions of a contender for each example of the test split, by the example's key.

        contender: its name; None: the winner. Of a cross-validation every example, predicted out of
        fold; in the second repeat it is KEY (repeat 2). Columns of a classification: label and
        predicted, both names of classes, and p.CLASS for each; of a multi-label task the same, but
        label and predicted are tuples of names; of a regression: label, predicted, error; of a
        time to an event: time, event, risk, and survival.TIME for each time; of a segmentation:
        dice, averaged over the classes but the background that are in either mask, foreground, the
        share of pixels that are predicted to be other than background, and for each class the
        pixels truth.CLASS, predicted.CLASS, both.CLASS and distance.CLASS. If the contender
        decides by a threshold, `attrs["threshold"]` is {"class": ..., "above": ...}:
        that class is predicted where its probability is greater.
        """
        name = contender or self.winner
        files = self._files.run
        address = predictions(files.contender(name))
        data = read(self._client, files.out_of_fold(name) if self._board.folds else address)
        if data is None:
            known = ", ".join(one.name for one in self._board.contenders if one.rank)
            raise NoRunError(f"{self.uri} has no predictions of {name!r}; it has those of {known}")
        return predicted.frame(data)

    def rows(self, split: str = "test") -> pd.DataFrame:
        """Source rows of a split's examples, by key; of a cross-validation, whose folds test all,
        of any row for the test split.

        Of a table, its features, weights and the columns of `source.keep` under their own names, as
        they were frozen for this dataset; an image is its address, of a manifest in `image`.
        """
        features = self.dataset["features"]
        folder = f"{self._plan.dataset.uri}source/"
        tables = [
            pq.read_table(pa.BufferReader(found.download_as_bytes()))
            for found in each_blob(self._client, f"{folder}rows-")
        ]
        if not tables:
            raise NoRunError(f"the rows of this dataset are no longer in {folder}")
        frame = pa.concat_tables(tables).to_pandas()
        if not (self._board.folds and split == "test"):
            frame = frame[frame["split"] == split]
        frame = frame.set_index("key").sort_index()
        if self._plan.table["rejected"]:
            frame = frame[frame[REJECTED].isna()]
        names = {one.get("column", one["name"]): one["name"] for one in features}
        if weight := self.dataset.get("weight"):
            names[WEIGHT] = weight["column"]
        names |= {one["column"]: one["name"] for one in self._plan.table["kept"]}
        return frame[list(names)].set_axis(list(names.values()), axis="columns")

    def model(self, contender: str | None = None, folder: str | Path | None = None) -> LoadedModel:
        """The model of a full training: a SavedModel, loaded by TensorFlow, what a group's own file
        has saved, loaded by that file, or an ensemble of them.

        contender: its name; None: the winner. folder: where to download it to; None: a new
        temporary one. `predict` of what is returned takes a frame of rows as they are in the
        source. Raises ImportError without TensorFlow, if it is a SavedModel.
        """
        name = contender or self.winner
        found = self.download(name, folder)
        if not (found / saved_model.KERAS).exists():
            return LoadedModel(found, self._file)
        try:
            import tensorflow as tf
        except ImportError as error:
            version = self._board.provenance.versions.get("tensorflow", "")
            raise ImportError(
                f"{name} is a TensorFlow model, and TensorFlow is not installed here: "
                f"pip install tensorflow{f'=={version}' if version else ''}"
            ) from error
        return LoadedModel(found, self._file, tf)

    def download(self, contender: str | None = None, folder: str | Path | None = None) -> Path:
        """Copy the saved model of a full training to a folder; arguments as those of `model`."""
        name = contender or self.winner
        source = trained_model(self._files.run.contender(name))
        found = list(each_blob(self._client, source))
        if not found:
            other = f"; this run's is {self.selected}" if self.selected not in (None, name) else ""
            raise NoRunError(f"there is no model in {source}: only full trainings leave one{other}")
        target = Path(folder or tempfile.mkdtemp(prefix="trellis-model-"))
        for one in found:
            relative = f"gs://{one.bucket.name}/{one.name}".removeprefix(source)
            if relative.endswith("/") or not relative:
                continue
            path = target / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            one.download_to_filename(str(path))
        return target

    def _file(self, uri: str) -> bytes:
        """An object that a frame names. Raises OSError if there is none."""
        data = read(self._client, uri)
        if data is None:
            raise FileNotFoundError(f"there is no {uri}")
        return data

    def _file_of(self, kind: type[F], uri: str) -> F:
        """A file of the run in its class. Raises NoRunError if there is none."""
        found = read_file(self._client, kind, uri)
        if found is None:
            raise _missing(uri)
        return found

    def _document(self, kind: str, uri: str) -> Any:
        data = read(self._client, uri)
        if data is None:
            raise _missing(uri)
        content = json.loads(data)
        check(kind, content, uri)
        return content


def _missing(uri: str) -> NoRunError:
    return NoRunError(f"there is no {uri}: the run has not got that far, or it was deleted")
