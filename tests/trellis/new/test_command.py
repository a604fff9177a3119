"""From data to an experiment file that a run accepts: real files, BigQuery and buckets."""

import random
import re
import struct
import zlib

import pyarrow
import pytest
from google.cloud import bigquery
from pyarrow import parquet

from tests.trellis.new.test_folders import dicom
from tests.trellis.workflow.plans import plan_run
from tests.wording import says
from trellis.__main__ import main
from trellis.new.shapes import shape_of
from trellis.new.text import MODELINE
from trellis.workflow.spec import platform
from trellis.workflow.validation.file import load


def flowers(path, rows=120):
    """A table without a key, with copies, odd names, a missing label, and a column of one value."""
    draw = random.Random(7)
    lines = ["petal length (cm),petal width (cm),garden,measured,species"]
    for n in range(rows):
        kind = ("alba", "rosa", "" if n == 5 else "vera")[n % 3]
        size = draw.gauss(n % 3, 0.5)
        lines.append(f"{size:.3f},{size / 3:.3f},north,2024-01-{1 + n % 28:02d},{kind}")
    path.write_text("\n".join([*lines, lines[1], lines[2]]) + "\n")


def test_a_csv_file_without_a_key(trellis, dags, planned, capsys):
    flowers(dags.parent / "flowers.csv")
    assert trellis("new", "experiment", "flowers.csv", "--upload", "--owner", "ann") == 0
    out = capsys.readouterr().out
    assert "122 rows are in data.flowers" in out
    assert says(out, "multiclass_classification", "--label", "COLUMN")
    text = (dags / "experiments/flowers.yaml").read_text()
    assert text.splitlines()[0] == MODELINE
    assert (dags / "experiment.schema.json").exists()
    assert "# no feature: garden, one value in all rows" in text
    assert "1 rows without a label are left out" in text
    assert main(["check", str(dags / "experiments/flowers.yaml")]) == 0
    plan = planned("flowers")
    names = [feature.name for feature in plan.table.features]
    assert names == ["petal_length_cm", "petal_width_cm", "measured"]
    assert plan.experiment.owner == "ann"
    assert plan.experiment.source.split.stratify == "species"


@pytest.mark.parametrize(
    "said",
    [("--to", "data.told"), ("--to", "data.said", "--task", "multilabel_classification")],
)
def test_a_csv_file_whose_rows_have_any_number_of_classes(trellis, dags, planned, capsys, said):
    draw = random.Random(3)
    lines = ["person,pressure,age,findings"]
    for n in range(90):
        found = "|".join(["gout"] * (n % 3 == 0) + ["anaemia"] * (n % 2))
        lines.append(f"p{n},{draw.gauss(120, 15):.1f},{draw.randint(20, 80)},{found}")
    (dags.parent / "people.csv").write_text("\n".join(lines) + "\n")
    assert trellis("new", "experiment", "people.csv", "--label", "findings", "--upload", *said) == 0
    out = capsys.readouterr().out
    assert "label: findings (multilabel_classification)" in out
    text = (dags / "experiments/people.yaml").read_text()
    assert f"# findings from 2 columns of {said[1]}, 90 rows. Classes: gout 30, anaemia 45." in text
    assert "  # 30 rows without a label count as rows of no class.\n" in text
    assert main(["check", str(dags / "experiments/people.yaml")]) == 0
    plan = planned("people")
    assert (plan.experiment.task, plan.experiment.metric) == ("multilabel_classification", "auc")
    assert plan.baselines == ()


def test_rows_of_few_values_are_not_taken_for_copies(trellis, dags, planned, capsys):
    """The rows are the passengers of the Titanic by class, age and sex: 1,316 rows, of which 14
    differ.
    """
    lines = [f"{n % 3},{'fm'[n % 2]},{('no', 'yes')[n % 5 == 0]}" for n in range(300)]
    (dags.parent / "ship.csv").write_text("\n".join(["deck,sex,saved", *lines]) + "\n")
    assert trellis("new", "experiment", "ship.csv", "--label", "saved", "--upload") == 0
    text = (dags / "experiments/ship.yaml").read_text()
    assert "288 of 300 rows equal another one, and stay." in text
    query = planned("ship").experiment.source.query
    found = bigquery.Client().query(f"SELECT COUNT(DISTINCT row_key) AS n FROM ({query})").result()
    assert [row.n for row in found] == [300]


def test_without_upload_the_command_says_how(trellis, dags, capsys):
    flowers(dags.parent / "flowers.csv")
    assert trellis("new", "experiment", "flowers.csv", "--name", "mine") == 0
    assert "trellis upload flowers.csv data.mine" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("new", "experiment"), ("upload", "x.csv")])
def test_without_the_folder_of_dag_files_the_option_is_named(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    assert main([*words, "data.x"]) == 1
    assert "dags is no folder here" in (said := capsys.readouterr().err)
    assert "--folder" in said


def test_nothing_is_overwritten(trellis, dags, google, capsys):
    flowers(dags.parent / "flowers.csv")
    (dags / "experiments").mkdir()
    (dags / "experiments/flowers.yaml").write_text("mine\n")
    assert trellis("new", "experiment", "flowers.csv") == 1
    assert "flowers.yaml exists and stays as it is" in capsys.readouterr().err
    assert (dags / "experiments/flowers.yaml").read_text() == "mine\n"
    assert trellis("upload", "flowers.csv", "data.twice") == 0
    flowers(dags.parent / "flowers.csv", rows=90)
    assert trellis("upload", "flowers.csv", "data.twice") == 1
    assert "data.twice has other rows already" in capsys.readouterr().err


def test_names_types_and_classes_of_a_file_reach_the_run(trellis, dags, planned, capsys):
    """A label of 0.0 and 1.0 with holes, NA as a class of its own, names that are not ASCII."""
    lines = ["编号;größe in cm;Land;aufgenommen;ill (1=yes)"]
    for n in range(120):
        ill = "" if n == 7 else f"{float(n % 2)}".replace(".", ",")
        lines.append(f"{n:04d};{100 + n / 7:.2f};{('NA', 'DE')[n % 3 > 0]};08:{n % 60:02d};{ill}")
    (dags.parent / "lab.csv").write_bytes(
        "\n".join([*lines, ""]).replace(".", ",").encode("cp1252", "ignore")
    )
    assert trellis("new", "experiment", "lab.csv", "--upload") == 1
    assert "--encoding cp1252" in capsys.readouterr().err
    (dags.parent / "lab.csv").write_text("\n".join([*lines, ""]).replace(".", ","))
    label = ("--label", "ill (1=yes)")
    assert trellis("new", "experiment", "lab.csv", "--upload", *label) == 0
    out = capsys.readouterr().out
    assert out.index("lab.csv: a table (text in UTF-8, separated by semicolons)") == 0
    for said in (
        "renamed: 'ill (1=yes)' is ill_1=yes",
        "kept as text: 编号 (leading zeros)",
        "Land has 'NA' in 40 rows",
        "aufgenommen (a time of day",
        "1 rows without a label are left out",
        "not known: whether each feature is known before the label",
    ):
        assert said in out
    plan = planned("lab")
    assert [f.name for f in plan.table.features] == ["größe in cm", "Land"]
    assert plan.table.label.type == "INT64"
    rows = bigquery.Client().query(f"{plan.experiment.source.query}").result()
    found = [(row["编号"], row["Land"], row["ill_1=yes"]) for row in rows]
    assert sorted(found)[:2] == [("0000", "NA", 0), ("0001", "DE", 1)]
    assert len(found) == 119


def test_the_command_for_the_upload_says_how_the_file_was_read(trellis, dags, capsys):
    rows = "".join(f"{n % 2};{n},5;NA\n" for n in range(60))
    (dags.parent / "a b.csv").write_text(f"y;x;z\n{rows}")
    said = ("--decimal", ",", "--missing", "NA")
    assert trellis("new", "experiment", "a b.csv", *said) == 0
    assert "trellis upload 'a b.csv' data.a_b --decimal , --missing NA" in capsys.readouterr().out


def test_a_folder_of_splits(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for split, count in (("train", 20), ("val", 8), ("test", 8)):
        for n in range(count):
            png(dags.parent / "pets" / split / ("cat" if n % 2 else "dog") / f"{n}.png", 20)
            png(dags.parent / "pets" / split / ".ipynb_checkpoints" / f"{n}.png", 20)
    assert trellis("new", "experiment", "pets", "--upload") == 0
    out = capsys.readouterr().out
    assert "left out: 36 hidden and system files" in out
    assert "ML_USE): test 8, train 20, val" in out
    plan = planned("pets")
    assert plan.dataset.classes == {"cat": 18, "dog": 18}
    manifest = (google.buckets / "new-tests/pets/manifest.csv").read_text().splitlines()
    uses = [line.split(",")[0] for line in manifest]
    assert {use: uses.count(use) for use in uses} == {"test": 8, "training": 20, "validation": 8}


def test_a_parquet_file_of_patients(trellis, dags, planned, capsys):
    draw = random.Random(3)
    visits = [
        {
            "visit": f"v{n}",
            "patient_id": n // 8,
            "pressure": draw.gauss(120, 10),
            "trace": [draw.random() for _ in range(4)],
            "stay": draw.uniform(0, 9),
        }
        for n in range(400)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(visits), dags.parent / "visits.parquet")
    assert trellis("new", "experiment", "visits.parquet", "--label", "stay", "--upload") == 0
    plan = planned("visits")
    assert plan.experiment.task == "regression"
    assert plan.experiment.model == "recurrent"
    assert plan.experiment.source.split.by == "patient_id"
    assert plan.experiment.source.key_ == "visit"
    assert [feature.name for feature in plan.table.features] == ["pressure", "trace"]


def test_a_partitioned_table(trellis, dags, google, planned, capsys):
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("new_tests", exists_ok=True)
    client.query_and_wait(
        """
        CREATE TABLE new_tests.cells PARTITION BY measured_on AS
        SELECT n AS cell_id, MOD(n, 3) = 0 AS malignant, SIN(n) AS radius, MOD(n, 4) AS stage,
          DATE_ADD(DATE '2024-01-01', INTERVAL MOD(n, 4) DAY) AS measured_on
        FROM UNNEST(GENERATE_ARRAY(1, 300)) AS n
        """
    )
    assert trellis("new", "experiment", "new_tests.cells") == 0
    text = (dags / "experiments/cells.yaml").read_text()
    assert "# malignant from 2 columns of new_tests.cells, 300 rows. Classes: true 100," in text
    assert "`categorical: [...]`: stage" in re.sub(r"\n\s*# ", " ", text)
    plan = planned("cells")
    assert plan.experiment.source.partition == "measured_on"
    assert plan.experiment.source.key_ == "cell_id"
    assert plan.experiment.task == "binary_classification"


def png(path, side, height=None, bits=8):
    """A grey image, square unless it has another height."""
    height = height or side
    rows = b"".join(b"\0" + bytes(side * bits // 8) for _ in range(height))
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", side, height, bits, 0, 0, 0, 0))]
    chunks += [(b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for name, data in chunks:
            file.write(struct.pack(">I", len(data)) + name + data)
            file.write(struct.pack(">I", zlib.crc32(name + data)))


def test_a_folder_of_images_then_its_manifest(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(20):
        png(dags.parent / "Leaves" / ("oak" if n % 2 else "elm tree") / f"{n}.png", 20)
    assert trellis("new", "experiment", "Leaves", "--upload") == 0
    assert says(capsys.readouterr().out, "manifest.csv", "gs://new-tests/leaves")
    plan = planned("leaves")
    assert plan.dataset.classes == {"elm tree": 10, "oak": 10}
    source = plan.experiment.source
    assert (source.size, source.channels, source.resize) == ((20, 20), 1, "stretch")
    assert (source.split.stratify, source.split.shares) == ("label", (60, 20, 20))
    assert trellis("upload", "Leaves", "leaves") == 1
    assert "gs://new-tests/leaves/manifest.csv exists already" in capsys.readouterr().err
    address = "gs://new-tests/leaves/manifest.csv"
    assert trellis("new", "experiment", address, "--name", "again") == 0
    again = (dags / "experiments/again.yaml").read_text()
    assert again == (dags / "experiments/leaves.yaml").read_text()


def test_a_manifest_with_groups(trellis, dags, google, planned):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(40):
        png(google.buckets / f"new-tests/scans/{n}.png", 90, height=90 + n)
    lines = [f"gs://new-tests/scans/{n}.png,{n % 3},patient {n}\n" for n in range(40)]
    (google.buckets / "new-tests/scans/manifest.csv").write_text("".join(lines))
    assert trellis("new", "experiment", "gs://new-tests/scans/manifest.csv") == 0
    plan = planned("scans")
    assert plan.experiment.source.split.by == "group"
    assert plan.experiment.source.resize == "letterbox"
    assert plan.experiment.task == "multiclass_classification"


def test_images_of_more_than_8_bits_have_a_scale(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(20):
        png(dags.parent / "Slides" / ("oak" if n % 2 else "elm") / f"{n}.png", 20, bits=16)
    assert trellis("new", "experiment", "Slides", "--upload") == 0
    assert "deeper than 8 bits: 20 of 20 images have 16 bits" in capsys.readouterr().out
    source = planned("slides").experiment.source
    assert (str(source.scale), source.encoding) == ("percentiles:1,99", "png")
    assert trellis("new", "experiment", "gs://new-tests/slides/manifest.csv", "--name", "m") == 0
    assert "deeper than 8 bits: 20 of 20 images have 16 bits" in capsys.readouterr().out
    assert planned("m").experiment.source.scale == source.scale


def test_dicom_files_of_several_frames_have_a_scale_and_a_page(
    trellis, dags, google, planned, capsys
):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(20):
        path = dags.parent / "Lungs" / ("ill" if n % 2 else "well") / f"{n}.dcm"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dicom((64, 80), 1, 12, 30, "little") + bytes(n))
    assert trellis("new", "experiment", "Lungs", "--upload") == 0
    assert "several pages or frames: 20 of 20 images have 30" in capsys.readouterr().out
    source = planned("lungs").experiment.source
    assert (source.scale, source.pages, source.channels) == ("percentiles:1,99", "first", 1)


@pytest.mark.parametrize("there", [0, 5])
def test_a_manifest_whose_images_are_not_there(trellis, dags, google, capsys, there):
    folder = google.buckets / f"new-tests/gone-{there}"
    for n in range(there):
        png(folder / f"{n}.png", 30)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"gs://new-tests/{folder.name}/{n}.png,{n % 2}\n" for n in range(40)]
    (folder / "manifest.csv").write_text("".join(lines))
    address = f"gs://new-tests/{folder.name}/manifest.csv"
    assert trellis("new", "experiment", address) == (0 if there else 1)
    said = capsys.readouterr()
    if there:
        assert "is not there: 35 of 40 that were looked at" in said.out
    else:
        assert "0.png is not there" in said.err


def test_a_manifest_with_any_number_of_labels(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(40):
        png(google.buckets / f"new-tests/findings/{n}.png", 30)
    lines = [
        f"gs://new-tests/findings/{n}.png" + ",mass" * (n % 2) + ",nodule" * (n % 3 == 0) + "\n"
        for n in range(40)
    ]
    (google.buckets / "new-tests/findings/manifest.csv").write_text("".join(lines))
    assert trellis("new", "experiment", "gs://new-tests/findings/manifest.csv") == 0
    assert "40 images, 2 labels (multilabel_classification)" in capsys.readouterr().out
    plan = planned("findings")
    assert (plan.experiment.task, plan.experiment.metric) == ("multilabel_classification", "auc")
    assert (plan.dataset.examples, plan.dataset.classes) == (40, {"mass": 20, "nodule": 14})


def test_a_manifest_of_numbers(trellis, dags, google, planned, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    for n in range(40):
        png(google.buckets / f"new-tests/cells/{n}.png", 30)
    lines = [f"gs://new-tests/cells/{n}.png,{n / 4}\n" for n in range(40)]
    (google.buckets / "new-tests/cells/manifest.csv").write_text("".join(lines))
    address = "gs://new-tests/cells/manifest.csv"
    assert trellis("new", "experiment", address) == 0
    assert "40 images, 40 labels (regression)" in capsys.readouterr().out
    plan = planned("cells")
    assert (plan.experiment.task, plan.experiment.metric) == ("regression", "rmse")
    assert (plan.dataset.examples, plan.dataset.classes) == (40, None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("nothing.csv", "is no file or folder here"),
        ("new_tests.missing", "cannot be read"),
        ("gs://new-tests/missing.csv", "cannot be read"),
        ("notes.md", "is none of .csv"),
        ("broken.csv", "broken.csv: line 3 has 1 value"),
        ("empty.csv", "has no rows"),
        ("plain", "has no images in folders of classes"),
    ],
)
def test_what_cannot_be_read_is_refused(trellis, dags, google, capsys, data, message):
    here = dags.parent
    (here / "notes.md").write_text("a\n")
    (here / "broken.csv").write_text("a,b\n1,2\n3\n")
    (here / "empty.csv").write_text("a,b\n")
    (here / "plain").mkdir()
    assert trellis("new", "experiment", data, "--name", "new") == 1
    assert message in capsys.readouterr().err
    assert not (dags / "experiments").exists()


def test_the_header_of_a_jpeg_tells_its_shape():
    app = b"\xff\xe0" + struct.pack(">H", 16) + bytes(14)
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, 300, 400, 3)
    assert shape_of(b"\xff\xd8" + app + frame + bytes(20)) == (300, 400, 3, 8, 1)
    assert shape_of(b"\xff\xd8" + app) is None
    assert shape_of(b"GIF89a") is None


def two_classes(path, names, quoted=""):
    """A table of 60 rows with two classes; every fifth row has an empty text in quotes."""
    draw = random.Random(3)
    lines = ['"id","x","y"']
    for n in range(60):
        name = quoted if n % 5 == 0 and quoted is not None else names[n % 2]
        lines.append(f'"s{n}","{draw.gauss(n % 2, 1):.3f}","{name}"')
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("names", "positive"),
    [(("ill", "well"), "well"), (("yes", "no"), "yes"), (("0", "1"), "1"), (("9", "10"), "10")],
)
def test_the_file_names_the_positive_class_that_a_run_would_take(trellis, dags, names, positive):
    two_classes(dags.parent / "two.csv", names, quoted=None)
    assert trellis("new", "experiment", "two.csv", "--label", "y", "--owner", "ann") == 0
    assert load(dags / "experiments/two.yaml").positive == positive


def test_an_empty_text_is_no_class(trellis, dags, capsys):
    two_classes(dags.parent / "two.csv", ("ill", "well"))
    words = ("new", "experiment", "two.csv", "--owner", "ann")
    assert trellis(*words) == 1
    said = "".join(capsys.readouterr())
    assert "'y' is an empty text in 12 rows" in said
    assert "--missing ''" in said
    assert trellis(*words, "--missing", "") == 0
    assert "12 rows without a label are left out" in capsys.readouterr().out
    assert load(dags / "experiments/two.yaml").positive == "well"


def test_a_column_of_addresses_becomes_images_beside_the_others(trellis, google, dags, tmp_path):
    folder = google.buckets / "new-tests" / "photos"
    lines = ["lesion,photo,age,malignant"]
    for n in range(120):
        png(folder / f"{n}.png", 40, 30)
        lines.append(f"l{n:03d},gs://new-tests/photos/{n}.png,{20 + n % 60},{n % 2 == 0}")
    (tmp_path / "lesions.csv").write_text("\n".join(lines) + "\n")

    assert trellis("new", "experiment", "lesions.csv", "--upload") == 0

    experiment = load(dags / "experiments" / "lesions.yaml")
    source = experiment.source
    assert (experiment.model, source.key_, source.label) == ("convolutional", "lesion", "malignant")
    photo = source.image_columns["photo"]
    assert (photo.size, photo.channels, photo.resize) == ((30, 30), 1, "stretch")
    planned = plan_run(experiment, platform.load(dags), "r")
    assert [(f.name, f.kind) for f in planned.table.features] == [
        ("photo", "image"),
        ("age", "numeric"),
    ]
    # The table in BigQuery says the same.
    assert trellis("new", "experiment", "data.lesions", "--name", "again") == 0
    assert load(dags / "experiments" / "again.yaml").source.image_columns == {"photo": photo}


def test_addresses_of_images_that_are_not_there_are_refused(trellis, google, tmp_path, capsys):
    (google.buckets / "new-tests").mkdir(exist_ok=True)
    rows = [f"l{n},gs://new-tests/gone/{n}.png,{n % 2}" for n in range(60)]
    (tmp_path / "gone.csv").write_text("\n".join(["lesion,photo,malignant", *rows]) + "\n")
    assert trellis("new", "experiment", "gone.csv") == 1
    assert "photo: all 40 images that were looked at are unusable" in capsys.readouterr().err
