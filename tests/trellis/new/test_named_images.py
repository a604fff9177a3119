"""A folder of images beside a table of their names: joined by what the names mean, or refused."""

import csv
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.airflow_side import ROOT
from tests.trellis.new.test_command_images import png
from tests.trellis.new.test_uploading import here, rows_of, table, write
from tests.wording import says
from trellis.__main__ import main
from trellis.new import files, named_images
from trellis.new.described import DataError, Reading, lines
from trellis.workflow.validation.file import load

__all__ = ["here", "table"]

PLACE = "gs://lab/data/t"


@pytest.fixture
def join(tmp_path):
    """Joins a folder of these images with a table: (addresses or names by column, what is said)."""

    def join(paths, table, column=None, known=()):
        folder = tmp_path / "scans"
        for path in paths:
            png(folder / path, 16)
        names = list(table)
        with (tmp_path / "t.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(names)
            rows.writerows(zip(*table.values(), strict=True))
        file = files.read(tmp_path / "t.csv", Reading())
        found = named_images.joined(folder, tmp_path / "t.csv", file, PLACE, column, known)
        short = {
            name: [v if v is None else str(v).replace(f"{PLACE}/images/", "@") for v in values]
            for name, values in found.table.to_pydict().items()
        }
        assert {a for a, _ in found.pictures.each()} == {
            f"{PLACE}/images/{v[1:]}" for c in short.values() for v in c if str(v).startswith("@")
        }
        return short, "\n".join(lines(found.notes))

    return join


FLAT = ("a.png", "b.png", "c.png")
DEEP = ("one/1.png", "one/2.png", "two/1.png")


@pytest.mark.parametrize(
    ("paths", "names", "expected"),
    {
        "names": (FLAT, ("c.png", "a.png", "b.png"), ("@c.png", "@a.png", "@b.png")),
        "another case": (FLAT, ("A.PNG", "b.png ", "C.png"), ("@a.png", "@b.png", "@c.png")),
        "paths": (DEEP, ("two/1.png", "one/1.png", "./one/2.png"),
                  ("@two/1.png", "@one/1.png", "@one/2.png")),
        "the folder before them": (FLAT, ("scans/a.png", "scans/b.png", "scans/c.png"),
                                   ("@a.png", "@b.png", "@c.png")),
        "of Windows": (DEEP, (r"D:\x\one\1.png", r"D:\x\one\2.png", r"D:\x\two\1.png"),
                       ("@one/1.png", "@one/2.png", "@two/1.png")),
        "of the web": (FLAT, ("https://x.org/i/a.png", "https://x.org/i/b.png", "https://x.org/i/"),
                       ("@a.png", "@b.png", None)),
        "the last part alone": (("one/a.png", "two/b.png"), ("b.png", "a.png", "b.png"),
                                ("@two/b.png", "@one/a.png", "@two/b.png")),
        "one image of several rows": (FLAT, ("a.png",) * 3, ("@a.png",) * 3),
        "accents of macOS": (("u\u0308.png",), ("\u00fc.png",) * 3, ("@u\u0308.png",) * 3),
        "spelled in two ways": (("a.png", "A.png"), ("A.png", "a.png", "A.png"),
                                ("@A.png", "@a.png", "@A.png")),
        "another folder's": (("p1/1.png", "p1/2.png"), ("p2/1.png", "p1/1.png", "p1/2.png"),
                             (None, "@p1/1.png", "@p1/2.png")),
    }.values(),
)  # fmt: skip
def test_what_names_mean(join, paths, names, expected):
    found, _ = join(paths, {"nr": (11, 12, 13), "photo": names, "id": ("x", "y", "z")})
    assert found["photo"] == list(expected)
    assert list(found) == ["nr", "photo", "id"]


def test_all_names_of_another_folder_find_nothing(join):
    with pytest.raises(DataError, match=r"no column of .* has names of the 1 images"):
        join(("p1/1.png",), {"id": ("x", "y"), "photo": ("p2/1.png", "p2/1.png")})


@pytest.mark.parametrize(
    ("paths", "ids", "expected"),
    [
        (FLAT, ("c", "a", "x"), ["@c.png", "@a.png", None]),
        (("7.png", "12.png", "3.png"), (12, 7, 5), ["@12.png", "@7.png", None]),
        (("0007.png", "0012.png"), (12, 7, 5), ["@0012.png", "@0007.png", None]),
        (("x/a.v1.png", "y/b.v1.png"), ("a.v1", "b.v1", "c"), ["@x/a.v1.png", "@y/b.v1.png", None]),
    ],
)
def test_identifiers_may_name_images_without_the_suffix(join, paths, ids, expected):
    found, said = join(paths, {"lesion_id": ids, "age": (30, 40, 50)})
    assert found["image"] == expected
    assert found["lesion_id"] == [str(each) for each in ids]
    assert "1, such as" in said


def test_names_that_alone_identify_rows_stay(join):
    found, _ = join(FLAT, {"file": FLAT, "age": (30, 30, 50)})
    assert found == {
        "file": list(FLAT),
        "age": ["30", "30", "50"],
        "image": ["@a.png", "@b.png", "@c.png"],
    }
    # A table that has addresses in place of names gets these.
    found, _ = join(FLAT, {"file": FLAT, "age": (30, 30, 50)}, known=("file", "age"))
    assert found["file"] == ["@a.png", "@b.png", "@c.png"]


def test_several_columns_of_images(join):
    found, _ = join(
        ("front/1.png", "front/2.png", "back/1.png"),
        {"id": ("x", "y"), "a": ("front/1.png", "front/2.png"), "b": ("back/1.png", "")},
    )
    assert (found["a"], found["b"]) == (["@front/1.png", "@front/2.png"], ["@back/1.png", None])


def test_what_lacks_its_other_half_is_said(join):
    names = ["a.png", "gone.png", "lost.png", ""]
    _, said = join(
        ("a.png", "b.png", "sub/c.png"), {"id": ("w", "x", "y", "z"), "photo": names}
    )  # fmt: skip
    assert "1 of 4 rows; photo becomes addresses" in said
    assert "photo: 2, such as gone.png, lost.png" in said
    assert says(said, "rows without", "image: photo: 1")
    assert says(said, "images without a row", ": 2, such as b.png, sub/c.png")


@pytest.mark.parametrize(
    ("paths", "table", "column", "message"),
    [
        (DEEP, {"id": ("x", "y"), "f": ("1.png", "2.png")}, None, "one/1.png and two/1.png"),
        (("1.png", "1.jpg"), {"id": (1, 2)}, None, "'1' in column id may be 1.jpg and 1.png"),
        (FLAT, {"id": ("x", "y")}, None, "no column of"),
        (FLAT, {"id": ("x", "y"), "n": FLAT[:2]}, "id", "column id of"),
        (FLAT, {"id": ("x", "y"), "n": FLAT[:2]}, "nn", "did you mean 'n'"),
        (("1.png", "2.png"), {"a": (1, 2), "b": (2, 1)}, None, "which column names them"),
        (("1.png",), {"id": ("x",), "image": ("y",), "n": (1,)}, "n", "has a column 'image'"),
        (("a.nii", "b.nii"), {"id": ("x",)}, None, "2 files of volumes"),
        (("notes.txt",), {"id": ("x",)}, None, "has no images"),
    ],
)
def test_what_cannot_be_joined_is_refused(join, paths, table, column, message):
    with pytest.raises(DataError) as refused:
        join(paths, table, column)
    assert message in str(refused.value)


def test_a_column_of_numbers_that_looks_alike_is_not_taken(join):
    paths = [f"{n}.png" for n in range(20)]
    found, _ = join(paths, {"age": [n % 15 for n in range(20)], "scan_id": list(range(20))})
    assert found["image"] == [f"@{n}.png" for n in range(20)]
    assert found["age"][16] == "1"


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5).map(str.casefold)


@settings(max_examples=30)
@given(st.sets(st.tuples(names, names), min_size=1, max_size=6), st.sampled_from(["", "/mnt/x/"]))
def test_any_paths_find_their_own_files(tmp_path_factory, pairs, above):
    """Whatever stands before all paths, each finds its own file and no other one."""
    base = tmp_path_factory.mktemp("join")
    for first, second in pairs:
        png(base / "scans" / first / f"{second}.png", 16)
    paths = sorted(f"{first}/{second}.png" for first, second in pairs)
    text = "".join(f"k{n},{above}{path}\n" for n, path in enumerate(paths))
    (base / "t.csv").write_text(f"id,photo\n{text}")
    file = files.read(base / "t.csv", Reading())
    try:
        found = named_images.joined(base / "scans", base / "t.csv", file, PLACE, None)
    except DataError:  # two names that are one in another form or case
        return
    assert found.table.to_pydict()["photo"] == [f"{PLACE}/images/{path}" for path in paths]


LESIONS = """
import csv, sys, cv2
from pathlib import Path
from demo.lesions_data import lesions
folder = Path(sys.argv[1]); folder.mkdir()
found = list(lesions())
for row, pixels in found:
    cv2.imwrite(f"{folder}/{row['lesion']}.png", pixels)
with open(sys.argv[2], "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["lesion", "patient", "photo", "age", "site", "malignant"])
    for row, _ in found:
        photo = f"{row['lesion']}.png"
        rows.writerow([row["lesion"], row["patient"], photo, row["age"], row["site"],
                       str(row["malignant"]).lower()])
"""


def test_the_example_lesions_from_a_folder_and_a_table(here, table, capsys, google):
    """A newcomer's way to the shipped example: its photographs and its columns."""
    program = [ROOT / ".venv/trainer/bin/python", "-c", LESIONS, "lesions", "patients.csv"]
    subprocess.run(program, check=True, env={"PYTHONPATH": str(ROOT)})
    words = ("lesions", "--table", "patients.csv", "--to", table, "--upload")
    assert main(["new", "experiment", *words]) == 0
    said = capsys.readouterr().out
    assert "900 of 900 rows; photo becomes addresses" in said
    assert f"900 rows are in {table}, 900 images in gs://new-tests/" in said
    file = here / "dags/experiments/lesions.yaml"
    assert main(["check", str(file)]) == 0
    found, shipped = load(file), load(ROOT / "dags/experiments/lesions.yaml")
    source = found.source
    assert (source.key_, source.label, source.split.by) == ("lesion", "malignant", "patient")
    assert source.image_columns["photo"].size == shipped.source.image_columns["photo"].size
    assert source.image_columns["photo"].encoding == "png"
    assert (found.model, found.task) == (shipped.model, shipped.task)
    assert source.features is None
    for _, _, photo, *_ in rows_of(table):
        assert (google.buckets / photo.removeprefix("gs://")).read_bytes() == (
            here / "lesions" / Path(photo).name
        ).read_bytes()


def test_rows_without_an_image_are_left_out_of_the_experiment(here, table, capsys, google):
    lines = [f"s{n},s{n}.png,{n % 7},{('ill', 'well')[n % 2]}" for n in range(60)]
    for n in range(50):
        png(here / "scans" / f"s{n}.png", 20)
    write(here / "t.csv", "scan,file,dose,state", *lines)
    words = ["new", "experiment", "scans", "--table", "t.csv", "--to", table, "--label", "state"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"trellis upload scans {table} --table t.csv" in said
    text = (here / "dags/experiments/scans.yaml").read_text()
    assert "10 rows without an image in file" in text
    assert "WHERE `file` IS NOT NULL" in text
    assert main(["upload", "scans", table, "--table", "t.csv"]) == 0
    assert len(rows_of(table)) == 60
    assert len(list((google.buckets / "new-tests" / table.replace(".", "/")).rglob("*"))) == 51


def test_a_table_of_images_grows(here, table, capsys, google):
    for n in range(6):
        png(here / "scans" / f"s{n}.png", 20 + n)
    write(here / "a.csv", "file,dose", *(f"s{n}.png,{n}" for n in range(3)))
    write(here / "b.csv", "file,dose", *(f"s{n}.png,{n}" for n in range(3, 6)))
    for name, more in (("a.csv", []), ("b.csv", ["--append"]), ("b.csv", ["--append"])):
        assert main(["upload", "scans", table, "--table", name, *more]) == 0
    found = rows_of(table)
    assert [row[:2] for row in found] == [(f"s{n}.png", n) for n in range(6)]
    assert all(row[2].endswith(f"/images/{row[0]}") for row in found)
    # An image that is there with another content is not replaced.
    png(here / "scans/s5.png", 90)
    write(here / "c.csv", "file,dose", "s5.png,70")
    assert main(["upload", "scans", "uploads.other", "--table", "c.csv"]) == 0
    before = rows_of(table)
    write(here / "d.csv", "file,dose", "./s5.png,70")
    assert main(["upload", "scans", table, "--table", "d.csv", "--append"]) == 1
    assert says(capsys.readouterr().err, "1 images", "another content")
    assert rows_of(table) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["scans", "--image", "x"], "--image is a column of --table"),
        (["t.csv", "--table", "t.csv"], ("t.csv", "--table")),
        (["scans", "--table", "u.csv"], "u.csv is no file here"),
        (["data.t", "--table", "t.csv"], "data.t is no folder"),
    ],
)
def test_options_that_do_not_go_together(here, capsys, words, message):
    png(here / "scans/a.png", 20)
    write(here / "t.csv", "x,y", "a,1", "b,2")
    assert main(["new", "experiment", *words, "--name", "n"]) == 1
    assert says(capsys.readouterr().err, message)
