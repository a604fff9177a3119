"""The contract with an image of a group's own, as a page of Markdown."""

from collections.abc import Iterable, Iterator, Mapping

from trellis_contracts import VERSION
from trellis_contracts.program import terms


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
        "CLOUD_ML_HP_METRIC_FILE, as cloudml-hypertune writes it."
    )
    yield from _section("Rules that are checked", ("rule", "the outputs keep it if"), terms.RULES)
    yield from _section("The server", ("variable", "meaning"), terms.SERVER)
    yield from _section("Its requests and answers", ("part", "form"), terms.ANSWERS)
    yield ""


def _section(title: str, heads: Iterable[str], rows: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|"
    for name, about in rows.items():
        yield f"| `{name}` | {about.replace('|', chr(92) + '|')} |"
