"""Kinds of files by their names and first bytes: which are read, and what to do with others."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePath

from trellis.new.described import DataError

_TEXT = (".csv", ".tsv", ".tab", ".txt")
ARROW = (".parquet", ".feather", ".arrow")
SUFFIXES = (*_TEXT, *(f"{each}{z}" for each in _TEXT for z in (".gz", ".zip")), *ARROW, ".zip")
"""Suffixes of tables that are read."""

# The second form, of one file of several, may follow a suffix or be all that a name ends in.
_RECORDS = re.compile(r".*(\.tf_?rec(ord)?s?(-\d+-of-\d+)?|-\d{5}-of-\d{5})(\.gz(ip)?|\.zz)?")

_PANDAS = "write it as Parquet first, with pandas: `{}.to_parquet('NAME.parquet')`"
_OTHERS: Mapping[tuple[str, ...], tuple[str, str]] = {
    (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".numbers"): (
        "a workbook",
        "save the sheet with the data as `CSV UTF-8`: one header row, no merged cells, values in "
        "place of formulas",
    ),
    (".json", ".jsonl", ".ndjson"): (
        "JSON",
        _PANDAS.format("pandas.read_json(FILE, lines=True)"),
    ),
    (".dta",): ("a file of Stata", _PANDAS.format("pandas.read_stata(FILE)")),
    (".sav", ".zsav", ".por"): ("a file of SPSS", _PANDAS.format("pandas.read_spss(FILE)")),
    (".sas7bdat", ".xpt"): ("a file of SAS", _PANDAS.format("pandas.read_sas(FILE)")),
    (".rds", ".rda", ".rdata"): (
        "a file of R",
        "write it as Parquet first, in R: `arrow::write_parquet(x, 'NAME.parquet')`",
    ),
    (".pkl", ".pickle"): ("a pickle", _PANDAS.format("pandas.read_pickle(FILE)")),
    (".h5", ".hdf5", ".hdf", ".nc", ".mat", ".npy", ".npz", ".zarr"): (
        "a file of arrays",
        "write it as Parquet first, with a column for each variable or with lists of numbers as "
        "sequences",
    ),
    (".orc", ".avro"): (
        "a file that BigQuery loads itself",
        "load it with `bq load` and name the table, or write it as Parquet",
    ),
    (".arff", ".libsvm", ".svmlight"): ("a file of another format", "write it as CSV first"),
    (".sqlite", ".db", ".sql"): ("a database", "write the table as CSV or Parquet first"),
    (".dcm", ".dicom", ".nii", ".nii.gz", ".png", ".jpg", ".jpeg", ".tif", ".tiff"): (
        "an image",
        "images are read from a folder: FOLDER/CLASS/IMAGE.png",
    ),
}

_BINARY = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ".xls",
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"FEA1": ".feather",
    b"\x89HDF\r\n\x1a\n": ".h5",
    b"\x93NUMPY": ".npy",
    b"CDF": ".nc",
    b"SQLite format 3": ".sqlite",
    b"$FL2": ".sav",
    b"RDX": ".rda",
    b"ORC": ".orc",
    b"Obj": ".avro",
    b"\x89PNG": ".png",
    b"\xff\xd8\xff": ".jpg",
    b"II*": ".tif",
    b"MM": ".tif",
}
"""First bytes of binary files, and a name that they should have. Text may begin like some of them
(a column `ORCID`), but has no control characters near its start.
"""

_SPELLED = {b"<stata_dta>": ".dta", b"@relation ": ".arff", b'{"': ".json", b'[{"': ".json"}
"""What files of text begin with that are no table, and a name that they should have."""

_UNREAD = {
    b"%PDF-": ("a PDF", "ask for the table itself, as `CSV UTF-8` or a workbook"),
    b"version https://git-lfs": ("a pointer of Git LFS, not the file", "get it by `git lfs pull`"),
    b"BZh": ("compressed with bzip2", "unpack it"),
    b"\xfd7zXZ": ("compressed with xz", "unpack it"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "unpack it"),
    b"7z\xbc\xaf": ("an archive of 7-Zip", "unpack it"),
    b"Rar!": ("a RAR archive", "unpack it"),
}

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def is_table(path: Path) -> bool:
    """Return whether a file's name is that of a table that is read."""
    return path.name.lower().endswith(SUFFIXES) or is_records(path)


def stem_of(name: str) -> str:
    """The file's name without what says its kind."""
    if found := _RECORDS.fullmatch(name.lower()):
        return name[: found.start(1)]
    ends = (name[: -len(suffix)] for suffix in SUFFIXES if name.lower().endswith(suffix))
    return min(ends, key=len, default=name)


def is_records(path: PurePath) -> bool:
    """Return whether a file's name is that of TFRecords."""
    return _RECORDS.fullmatch(path.name.lower()) is not None


def check_name(path: Path) -> None:
    """Raises DataError for a file whose name is not that of a table, with the way to one."""
    name = path.name.lower()
    if is_table(path):
        return
    if known := _other(name):
        what, remedy = known
        raise DataError(f"{path} is {what}, which is not read here: {remedy}")
    raise DataError(
        f"{path} is none of .csv, .tsv, .txt (also .gz or .zip), .parquet, .feather, .arrow, "
        ".tfrecord (also .gz): save it as `CSV UTF-8` or Parquet"
    )


def check_inner(path: Path, name: str) -> None:
    """Raises DataError if the one file of an archive has not the name of a text. name: in it."""
    if name.lower().endswith(ARROW):
        raise DataError(f"{path} holds {name}: unpack it and name the file")
    if known := _other(name.lower()):
        what, remedy = known
        raise DataError(f"{path} holds {name}, {what}, which is not read here: {remedy}")


def _other(name: str) -> tuple[str, str] | None:
    """Describe a file of this name, and the way to a table; None for a name that says nothing."""
    return next((words for ends, words in _OTHERS.items() if name.endswith(ends)), None)


def check_text(path: Path, data: bytes) -> None:
    """Raises DataError if the content of a file with a text's name is of another kind."""
    start = data.lstrip()[:64]
    binary = _CONTROL.search(start) is not None
    for mark, (what, remedy) in _UNREAD.items():
        if start.startswith(mark) and (binary or len(mark) > 4):
            raise DataError(f"{path} is {what}: {remedy}")
    marks = {**_SPELLED, **(_BINARY if binary else {})}
    suffix = next((suffix for mark, suffix in marks.items() if start.startswith(mark)), None)
    if suffix in ARROW:
        raise DataError(f"{path} is a {suffix} file under another name: rename it")
    if suffix is not None and (known := _other(suffix)):
        what, remedy = known
        raise DataError(f"{path} is {what} under another name, which is not read: {remedy}")
