"""From data to an experiment file that a run accepts: real files, BigQuery and buckets."""

import random
import re

import pyarrow
import pytest
from google.cloud import bigquery
from pyarrow import parquet

from tests.wording import says
from trellis.__main__ import main
from trellis.new.text import MODELINE
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
    assert "# no feature: garden" in text
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
    assert says(out, "label: findings", "multilabel_classification")
    text = (dags / "experiments/people.yaml").read_text()
    assert f"# findings from 2 columns of {said[1]}, 90 rows. Classes: gout 30, anaemia 45." in text
    assert "  # 30 rows without a label" in text
    assert main(["check", str(dags / "experiments/people.yaml")]) == 0
    plan = planned("people")
    assert (plan.experiment.task, plan.experiment.metric) == ("multilabel_classification", "auc")
    assert plan.baselines == ()


@pytest.mark.parametrize(("most", "metric"), [(100, "accuracy"), (101, "balanced_accuracy")])
def test_where_one_class_has_most_rows_a_search_is_not_for_accuracy(
    trellis, dags, google, most, metric
):
    classes = ["negative"] * most + ["positive"] * 70 + ["invalid"] * 30
    lines = [f"{n / 7:.3f},{name}" for n, name in enumerate(classes)]
    (dags.parent / f"titres_{most}.csv").write_text("\n".join(["titre,result", *lines]) + "\n")
    assert trellis("new", "experiment", f"titres_{most}.csv", "--upload") == 0
    file = dags / f"experiments/titres-{most}.yaml"
    assert load(file).metric == metric
    assert f"gate: {{require: {{{metric}: 0.8}}}}" in file.read_text()
    assert ("are negative" in file.read_text()) == (metric == "balanced_accuracy")


def test_the_file_tells_how_to_leave_out_classes_of_few_rows(trellis, dags, planned):
    """A table with a key, and one without, whose query each ends another way."""
    for name, keyed in (("mice", True), ("voles", False)):
        kinds = ["a"] * 40 + ["b"] * 40 + ["c"] * 9
        lines = [f"{n}x,{n / 7:.3f},{kind}" for n, kind in enumerate(kinds)]
        text = "\n".join(["sample_id,weight,strain", *lines])
        text = text if keyed else re.sub(r"^[^,]*,", "", text, flags=re.M)
        (dags.parent / f"{name}.csv").write_text(text + "\n")
        assert trellis("new", "experiment", f"{name}.csv", "--label", "strain", "--upload") == 0
        file = dags / f"experiments/{name}.yaml"
        text = file.read_text()
        assert "# 1 of 3 classes have under 10 rows" in text
        (told,) = re.findall(r"^  #   (.* >= 10\"?)\n", text, re.M)
        if keyed:
            text = text.replace(f"  bigquery: data.{name}\n", f"  {told}\n")
        else:
            before = "    QUALIFY ROW_NUMBER() OVER (PARTITION BY TO_JSON_STRING(t)) = 1\n"
            text = text.replace(before, f"{before}    {told}\n")
        file.write_text(text)
        query = f"SELECT DISTINCT strain FROM ({planned(name).experiment.source.query})"
        assert {row.strain for row in bigquery.Client().query(query).result()} == {"a", "b"}


def test_no_baseline_is_proposed_that_takes_fewer_classes(trellis, dags, google):
    for count, proposed in (
        (50, "  bqml: [logistic_reg"),
        (51, "# No baselines: BigQuery ML takes"),
    ):
        lines = [f"{n / 7:.3f},k{n % count}" for n in range(20 * count)]
        (dags.parent / f"kinds_{count}.csv").write_text("\n".join(["weight,kind", *lines]) + "\n")
        assert (
            trellis("new", "experiment", f"kinds_{count}.csv", "--label", "kind", "--upload") == 0
        )
        assert proposed in (dags / f"experiments/kinds-{count}.yaml").read_text()


def test_rows_of_few_values_are_not_taken_for_copies(trellis, dags, planned, capsys):
    """The rows are the passengers of the Titanic by class, age and sex: 1,316 rows, of which 14
    differ.
    """
    lines = [f"{n % 3},{'fm'[n % 2]},{('no', 'yes')[n % 5 == 0]}" for n in range(300)]
    (dags.parent / "ship.csv").write_text("\n".join(["deck,sex,saved", *lines]) + "\n")
    assert trellis("new", "experiment", "ship.csv", "--label", "saved", "--upload") == 0
    text = (dags / "experiments/ship.yaml").read_text()
    assert "288 of 300 rows" in text
    query = planned("ship").experiment.source.query
    found = bigquery.Client().query(f"SELECT COUNT(DISTINCT row_key) AS n FROM ({query})").result()
    assert [row.n for row in found] == [300]


def test_without_upload_the_command_says_how(trellis, dags, capsys):
    flowers(dags.parent / "flowers.csv")
    assert trellis("new", "experiment", "flowers.csv", "--name", "mine") == 0
    assert "trellis upload flowers.csv data.mine" in capsys.readouterr().out


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
    assert says(out, "lab.csv: a table", "UTF-8", "semicolons")
    assert "renamed: 'ill (1=yes)' is ill_1=yes" in out
    assert "kept as text: 编号" in out
    for fact in ("'NA' in 40 rows", "aufgenommen (", "1 rows without a label", "not known: "):
        assert fact in out
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
    assert "upload 'a b.csv' data.a_b --decimal , --missing NA" in capsys.readouterr().out


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
    split = plan.experiment.source.split
    # There are 50 patients: five in the test split would say little.
    assert (split.by, split.shares) == ("patient_id", (60, 20, 20))
    assert plan.experiment.source.key_ == "visit"
    assert [feature.name for feature in plan.table.features] == ["pressure", "trace"]


def test_a_partitioned_table(trellis, dags, google, planned, capsys):
    from google.cloud import bigquery

    client = bigquery.Client(project="local-gcp", location="US")
    client.create_dataset("new_tests", exists_ok=True)
    client.query_and_wait(
        """
        CREATE TABLE new_tests.cells PARTITION BY measured_on AS
        SELECT n AS cell_id, MOD(n, 3) = 0 AS malignant, IF(n = 7, 1e39, SIN(n)) AS radius,
          MOD(n, 4) AS stage,
          DATE_ADD(DATE '2024-01-01', INTERVAL MOD(n, 4) DAY) AS measured_on
        FROM UNNEST(GENERATE_ARRAY(1, 300)) AS n
        """
    )
    assert trellis("new", "experiment", "new_tests.cells") == 0
    assert "infinite, or beyond float32: radius (1 rows)" in capsys.readouterr().out
    text = (dags / "experiments/cells.yaml").read_text()
    assert says(text.splitlines()[1], "malignant", "new_tests.cells", "300 rows", "true 100")
    assert "`categorical: [...]`: stage" in re.sub(r"\n\s*# ", " ", text)
    plan = planned("cells")
    assert plan.experiment.source.partition == "measured_on"
    assert plan.experiment.source.key_ == "cell_id"
    assert plan.experiment.task == "binary_classification"


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
    experiment = load(dags / "experiments/two.yaml")
    assert experiment.positive == positive
    # What Airflow's page and the model card say: nothing of the tool.
    assert experiment.about.startswith("y from 1 column of data.two, 60 rows.")
    assert "trellis" not in experiment.about


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
