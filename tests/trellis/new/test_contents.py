"""Archives: the one file in them is read by its own kind."""

import io
import zipfile

import pytest

from trellis.new import files
from trellis.new.described import DataError


def archive(path, *names):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name in names:
            packed.writestr(name, "a,b\n1,2\n")
    path.write_bytes(content.getvalue())
    return path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.xlsx", "holds a.xlsx, a workbook.*CSV UTF-8"),
        ("old/a.XLS", "a workbook"),
        ("scans/1.png", "an image.*FOLDER/CLASS/IMAGE"),
        ("a.sav", "a file of SPSS.*read_spss"),
        ("a.parquet", "holds a.parquet: unpack it"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_its_own_name(tmp_path, name, said):
    with pytest.raises(DataError, match=said):
        files.read(archive(tmp_path / "d.zip", name))


@pytest.mark.parametrize("name", ["d.csv", "data/d.CSV", "iris.data", "README"])
def test_a_text_is_read_whatever_it_is_called(tmp_path, name):
    assert files.read(archive(tmp_path / "d.zip", name)).table.to_pydict() == {"a": [1], "b": [2]}


@pytest.mark.parametrize("names", [(), ("empty/",), ("__MACOSX/._d.csv", ".hidden")])
def test_an_archive_without_a_file_is_refused(tmp_path, names):
    with pytest.raises(DataError, match="an archive without a file"):
        files.read(archive(tmp_path / "d.zip", *names))
