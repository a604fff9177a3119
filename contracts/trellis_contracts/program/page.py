"""The contract with an image of a group's own, as a page of Markdown."""

from collections.abc import Iterable, Iterator, Mapping

from trellis_contracts import VERSION
from trellis_contracts.program import terms
from trellis_contracts.program.forms import FORMS
from trellis_contracts.tasks import BY_PROGRAMS, family_of
from trellis_contracts.training import TrainedOn, Training

EXAMPLE = Training(
    model="neighbours.py",
    task="binary_classification",
    metric="auc",
    hyperparameters={"neighbours": 9},
    seed=0,
    strategy=terms.PROGRAM,
    epochs_run=1,
    best_epoch=1,
    history=({"epoch": 1, "seconds": 12.5, "val_auc": 0.97, "val_loss": 0.2},),
    validation={"auc": 0.97, "loss": 0.2},
    test=None,
    dataset=TrainedOn("gs://lab/cells/datasets/77b0/", "77b0"),
)
"""metrics.json of a training, as the page shows it."""


def text() -> str:
    """The page that `trellis contract` prints."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield f"# What an image of your own is given, and must leave (trellis-contracts {VERSION})"
    yield ""
    yield (
        "Programs in Python use `trellis_contracts.program.inputs` (`job.rows` reads the Parquet "
        "files, `job.records` the TFRecords, without TensorFlow) and `outputs`."
    )
    yield from _section("Variables", ("variable", "meaning"), terms.VARIABLES)
    flags = {f"--{name}=": about for name, about in terms.FLAGS.items()}
    named = {
        "--HYPERPARAMETER=": "Each that the model's file declares: searched, fixed or default."
    }
    yield from _section("Flags", ("flag", "meaning"), {**flags, **named})
    yield from _section("The dataset's folder", ("file", "content"), terms.DATASET)
    outputs = {output.name: output.about for output in terms.OUTPUTS}
    yield from _section("What a full training leaves in OUTPUT/", ("file", "content"), outputs)
    yield ""
    yield (
        "A trial reports the metric that decides alone: a line of JSON in "
        "CLOUD_ML_HP_METRIC_FILE, as cloudml-hypertune writes it: "
        '`{"timestamp": 1790000000.0, "trial": "3", "auc": "0.97", "global_step": "1"}`.'
    )
    yield from ("", "## metrics.json", "", "```json", EXAMPLE.to_json(terms.METRICS).rstrip())
    yield from ("```", "")
    yield (
        "`dataset` has `--dataset` as it was given, and the `fingerprint` of its dataset.json. "
        "`validation` has the metric that decides and `loss`. `history` has a line for each epoch, "
        "at least one, with any further figures; `best_epoch` is the one whose model is there."
    )
    yield from _section("Rules that are checked", ("rule", "the outputs keep it if"), terms.RULES)
    yield from _section("The server", ("variable", "meaning"), terms.SERVER)
    yield from _section("Its requests and answers", ("part", "form"), terms.ANSWERS)
    for family, form in FORMS.items():
        tasks = ", ".join(task for task in BY_PROGRAMS if family_of(task) == family)
        yield from _section(tasks, ("part", "form"), form.texts())
    yield ""


def _section(title: str, heads: Iterable[str], rows: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|"
    for name, about in rows.items():
        yield f"| `{name}` | {about.replace('|', chr(92) + '|')} |"
