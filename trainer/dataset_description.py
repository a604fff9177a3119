"""Reads the description of a dataset in a bucket: trellis_contracts.dataset has its class."""

from trainer import storage
from trellis_contracts.dataset import FILE_NAME, DatasetDescription, DatasetError


def load(directory: str) -> DatasetDescription:
    """Read the description of the dataset in `directory` (gs:// address or path), through the
    mount.

    Raises DatasetError if there is no committed dataset.
    """
    where = storage.join(directory, FILE_NAME)
    try:
        text = storage.local_path(where).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DatasetError(
            f"there is no {where}: no dataset has been committed here. Is the address right, "
            "and did the export end in success?"
        ) from error
    return DatasetDescription.from_json(text, where)
