"""Make the datasets of a cross-validation's folds, each as trainer.export makes a whole dataset.

    python -m trainer.folds --dataset gs://BUCKET/EXPERIMENT/datasets/FINGERPRINT/ \\
        --fingerprint FINGERPRINT --shards 8

Every fold has vocabularies and statistics of its own train split, so that no model has seen
anything of the rows that it is tested on. The rows are DATASET/source/rows-*.parquet, and columns
say which row is of which fold (trellis_contracts.folds). The datasets are written to
DATASET/folds/PART/, the one of EVERYTHING last; what is there already is not written again. Each
has its rows in source/, with the part's own `split`, as a program that is not ours reads them
(trellis_contracts.program). Needs what an export needs, and no TensorFlow. Exit codes: 0 all are
there, 1 refused, 2 wrong flags.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from fnmatch import fnmatch

import pyarrow as pa
import pyarrow.parquet as pq

from trainer import storage
from trainer.export import export
from trainer.exporting import ExportError
from trainer.exporting.flags import shards
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import columns as table_columns
from trellis_contracts import folds, layout
from trellis_contracts.dataset import FILE_NAME, SPLITS
from trellis_contracts.folds import Folds


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    flags = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    try:
        make(flags.dataset, flags.fingerprint, *flags.shards)
    except ExportError as error:
        print(f"folds refused: {error}", file=sys.stderr)
        return 1
    return 0


def make(dataset: str, fingerprint: str, shards: int, by_bytes: bool = False) -> None:
    """Write the datasets that are not there yet. dataset: address of the whole one.

    Raises ExportError.
    """
    source = storage.join(layout.source(dataset), "columns.json")
    objects = Objects()
    try:
        content = objects.read(source)
    except FileNotFoundError as error:
        raise ExportError(f"there is no {source}") from error
    found = table_columns.parse(content, source).folds
    if found is None:
        raise ExportError(f"{source} names no folds: the dataset was made without `train.folds`")
    for part in folds.derived(found):
        print(f"part {part}: {found.rule(part)}", flush=True)
        output = folds.dataset(dataset, part)
        if storage.join(output, FILE_NAME) not in objects.list(output):
            _write_rows(objects, dataset, found, part)
        settings = ExportSettings(
            source=source,
            output=output,
            fingerprint=folds.fingerprint(fingerprint, part),
            shards=shards,
            by_bytes=by_bytes,
            part=part,
        )
        export(settings)


def _write_rows(objects: Objects, dataset: str, rule: Folds, part: str) -> None:
    """The frozen rows with the splits of a part, in files of the same names."""
    source = layout.source(dataset)
    for uri in objects.list(source):
        name = uri.removeprefix(source)
        if not fnmatch(name, layout.ROWS):
            continue
        rows = pq.read_table(pa.BufferReader(objects.read(uri)))
        # The export refuses a row with another fold.
        splits = {fold: SPLITS[place] for fold, place in enumerate(rule.splits(part), 1)}
        found = [splits.get(fold) for fold in rows[folds.column(part)].to_pylist()]
        place = rows.column_names.index("split")
        rows = rows.set_column(place, "split", pa.array(found, pa.string()))
        sink = io.BytesIO()
        pq.write_table(rows.drop_columns(list(rule.columns)), sink)
        target = layout.source(folds.dataset(dataset, part))
        objects.write(storage.join(target, name), sink.getvalue())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer.folds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dataset", required=True, metavar="ADDRESS", help="the whole dataset")
    parser.add_argument("--fingerprint", required=True, metavar="TEXT", help="its fingerprint")
    parser.add_argument(
        "--shards", type=shards, default="8+", metavar="N", help="as of trainer.export"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
