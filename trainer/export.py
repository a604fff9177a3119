"""Export a dataset: rows, with images or without -> TFRecord files and dataset.json.

Every row is encoded as trellis_contracts.dataset describes, with its key and its label, into a
TFRecord file of its split; every image at an address in its columns is decoded, turned upright and
resized. Files:

  OUTPUT/{train,validation,test}-00000-of-000NN.tfrecord   tf.train.Example: key, features, label
  OUTPUT/rejected.jsonl         rows without an example, with the reason
  OUTPUT/dataset.json           describes the files; written last: its presence commits the dataset
  OUTPUT/partial/               temporary files during the export

The source is a columns.json (trellis_contracts.columns) with rows-*.parquet in the same folder.

Examples:
  python -m trainer.export --source gs://bucket/cells/datasets/77ab/source/columns.json \\
      --output gs://bucket/cells/datasets/77ab/ --fingerprint 77ab --shards 8
  ... --dry-run                                                 splits, bytes and time, no dataset
  ... --runner DataflowRunner --project P --region R --temp_location gs://bucket/tmp/
                                                                on Dataflow

Without --runner the export runs on this machine, in as many processes as it has cores. With it,
other flags are Beam's pipeline options
(https://cloud.google.com/dataflow/docs/reference/pipeline-options). If OUTPUT already holds the
dataset with this fingerprint, nothing is done.
Exit codes: 0 committed (on Dataflow: submitted), 1 refused, 2 wrong flags.
"""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trainer import storage
from trainer.exporting import ExportError
from trainer.exporting.flags import parse_flags
from trainer.exporting.settings import ExportSettings
from trellis_contracts.dataset import FILE_NAME, SPLITS, DatasetDescription, DatasetError

if TYPE_CHECKING:
    from trainer.exporting.objects import Objects


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    settings, beam_flags = parse_flags(sys.argv[1:] if argv is None else argv, __doc__)
    try:
        export(settings, beam_flags)
    except ExportError as error:
        print(f"export refused: {error}", file=sys.stderr)
        return 1
    return 0


def export(settings: ExportSettings, beam_flags: Sequence[str] = ()) -> None:
    """Export one dataset.

    Raises ExportError if the source or the flags are refused; dataset.json is not written then.
    """
    # Storage's client takes a second to import, and Beam three: --help does not wait for them.
    from trainer.exporting.refusal import without_rows
    from trainer.exporting.run import place

    where = place(beam_flags)
    objects = where.objects()
    if _find_dataset(settings, objects):
        print(f"dataset {settings.fingerprint} is already in {settings.output}: nothing to do")
        return
    start = time.monotonic()
    for address in (settings.source, settings.output):
        objects.require_bucket(address)
    with without_rows(settings, objects):
        sha256 = _check_source(settings, objects)
    if settings.dry_run:
        from trainer.exporting.dry_run import estimate

        print("\n".join(estimate(settings, sha256, objects).lines()))
        return
    try:
        committed = where.run(settings, sha256)
    except BaseException:
        _remove_partial_files(settings, objects)
        raise
    if not committed:
        print("submitted; the job continues on Dataflow")
        return
    dataset = _find_dataset(settings, objects)
    if dataset is None:
        raise ExportError(f"{settings.output} has no {FILE_NAME} after the export; export again")
    _print_summary(settings, dataset, time.monotonic() - start)


def _find_dataset(settings: ExportSettings, objects: "Objects") -> DatasetDescription | None:
    """The committed dataset in the output folder, or None. Raises ExportError if it is another."""
    address = storage.join(settings.output, FILE_NAME)
    try:
        dataset = DatasetDescription.from_json(objects.read(address).decode(), address)
    except FileNotFoundError:
        return None
    except (DatasetError, UnicodeDecodeError) as error:
        raise ExportError(f"{error}; remove {address} to export again") from error
    if dataset.fingerprint != settings.fingerprint:
        raise ExportError(
            f"{address} describes dataset {dataset.fingerprint}, not {settings.fingerprint}; "
            "give each fingerprint an --output folder of its own"
        )
    return dataset


def _check_source(settings: ExportSettings, objects: "Objects") -> str:
    """Run all checks that need only a few rows; returns the SHA-256 of columns.json.

    Raises ExportError.
    """
    from trainer.exporting.tables.probe import probe
    from trainer.exporting.tables.steps import read_source

    source = read_source(settings, objects)
    probe(source, objects)
    files = len({work.uri for work in source.work})
    print(
        f"{settings.source}: {source.rows} rows in {files} Parquet files, "
        f"{len(source.columns.features)} features, {source.columns.task}",
        flush=True,
    )
    return source.columns.sha256


def _remove_partial_files(settings: ExportSettings, objects: "Objects") -> None:
    """Clean up after a failure. The next export overwrites and removes what a killed one leaves."""
    from trainer.exporting.tables.layout import PARTIAL_FOLDER

    objects.remove_folder(storage.join(settings.output, PARTIAL_FOLDER))


def _print_summary(settings: ExportSettings, dataset: DatasetDescription, seconds: float) -> None:
    # They quote keys and values, and a job's log is read by more people than the bucket.
    if count := len(dataset.warnings):
        print(f"{count} warning{'s' * (count > 1)}: see {FILE_NAME}")
    sizes = ", ".join(f"{dataset.examples(split)} {split}" for split in SPLITS)
    what = f"{len(dataset.classes)} classes" if dataset.classes else "values"
    print(
        f"committed {storage.join(settings.output, FILE_NAME)}: {sizes}, "
        f"{what}, {dataset.bytes / 1e6:.1f} MB, "
        f"{dataset.rejected} rejected, {seconds:.1f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
