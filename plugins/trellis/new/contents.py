"""The bytes of a file on this machine: unpacked, and as text in UTF-8."""

import codecs
import gzip
import io
import zipfile
import zlib
from pathlib import Path

from trellis.new import kinds
from trellis.new.described import DataError

MOST_BYTES = 2**31 - 1
"""Largest text file, unpacked: it is divided into values in one piece."""

# The longest first: UTF-32's little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT = 4096
_MAC = "__MACOSX"


def unpacked(path: Path) -> bytes:
    """The file's bytes; of a .gz, or a .zip with one file, those inside. Raises DataError."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _too_large(path)
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(MOST_BYTES + 1)
        elif data.startswith((b"PK\x03\x04", b"PK\x05\x06")):  # the second: of an empty one
            data = _of_zip(path, data)
    except (zlib.error, gzip.BadGzipFile, zipfile.BadZipFile, EOFError, RuntimeError) as error:
        # zipfile raises RuntimeError for a password.
        why = "is locked with a password" if isinstance(error, RuntimeError) else "is damaged"
        raise DataError(f"{path} {why}: unpack it, or get it again") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or 'it is damaged'}") from None
    if len(data) > MOST_BYTES:
        raise _too_large(path)
    return data


def encoding_of(data: bytes) -> str | None:
    """The encoding that a text's first bytes say: UTF-8, UTF-16 or UTF-32; else None."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    start = data[:_LOOKED_AT]
    # Latin letters, digits and separators in UTF-16: every second byte is 0.
    for offset, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        half = start[offset::2]
        if len(half) > 1 and half.count(0) > 0.7 * len(half) and start.count(0) <= len(half):
            return name
    return None


def in_utf8(path: Path, data: bytes, encoding: str) -> bytes:
    """The text in UTF-8, without a byte order mark. encoding: its own. Raises DataError."""
    try:
        info = codecs.lookup(encoding)
        if not info._is_text_encoding:
            raise LookupError
    except LookupError:
        raise DataError(
            f"--encoding: '{encoding}' is no encoding of text; known are utf-8, utf-16, cp1252 "
            "(Windows, Western Europe), cp1250, cp1251, latin-1, mac-roman, shift-jis, gb18030, ..."
        ) from None
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path}: line {line}: the byte 0x{data[error.start]:02X} means nothing in {encoding}; "
            "name the encoding in which the file was saved with --encoding, or save it in UTF-8"
        ) from None
    return text.removeprefix("\ufeff").encode()


def _of_zip(path: Path, data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [
            name
            for name in archive.namelist()
            if not name.endswith("/")
            and not name.startswith(_MAC)
            and not Path(name).name.startswith(".")
        ]
        if "[Content_Types].xml" in names:
            raise DataError(
                f"{path} is a file of Excel or another office program under this name; rename it "
                "to .xlsx, or save the sheet as CSV UTF-8"
            )
        if not names:
            raise DataError(f"{path} is an archive without a file")
        if len(names) != 1:
            shown = ", ".join(names[:5]) + (", ..." if names[5:] else "")
            raise DataError(
                f"{path} holds {len(names)} files ({shown}); expected one table: unpack it and "
                "name the file"
            )
        kinds.check_inner(path, names[0])
        with archive.open(names[0]) as file:
            return file.read(MOST_BYTES + 1)


def _too_large(path: Path) -> DataError:
    return DataError(
        f"{path} has more than {MOST_BYTES:,} bytes: write it as Parquet, or load it from Cloud "
        "Storage with BigQuery's own `bq load` and name the table"
    )
