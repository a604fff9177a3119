"""`trellis runs`, `trellis compare`, `trellis digest`, `trellis methods` and `trellis export`."""

from datetime import UTC, datetime

import pytest

from tests.trellis.results.made import (
    SPEED,
    a_board,
    a_contender,
    a_plan_of,
    a_run,
    a_training,
    write_files,
)
from tests.wording import says
from trellis.__main__ import main


@pytest.fixture
def trellis(dags, capsys):
    def run(*arguments):
        code = main([*arguments, "--platform", str(dags)])
        return code, *capsys.readouterr()

    return run


def test_a_list_of_runs(digits, breast_cancer, add, trellis):
    add(a_run(digits, "old", a_board(), created="2026-01-01T00:00:00+00:00"))
    add(a_run(digits, "bad", a_board(promoted=False), failure="training/2 failed"))
    add(a_run(breast_cancer, "new", created="2026-01-02T08:30:00+00:00"))
    code, out, _ = trellis("runs")
    head, newest, *_ = out.splitlines()
    assert code == 0
    assert head.split()[:4] == ["run", "triggered", "owner", "winner"]
    assert newest.split() == (
        ["breast-cancer/new", "2026-01-02", "08:30", "trellis", "no", "result", "1.92", "USD"]
    )
    rows = out.splitlines()[1:]
    old, bad = (next(row for row in rows if f"digits/{run} " in row) for run in ("old", "bad"))
    score = "0.9700 [0.9500, 0.9800]"
    assert says(old, "training/1", "accuracy", score, "the winner", "yes")
    assert says(bad, "accuracy", score, "the winner", "failed")
    _, out, _ = trellis("runs", "--task", "multiclass_classification", "--last", "1")
    assert "breast-cancer" not in out
    assert out.splitlines()[-1] == "and 1 more"
    _, out, _ = trellis("runs", "breast-cancer")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["breast-cancer/new"]


def test_a_training_is_listed_with_its_own_score_where_a_baseline_wins(digits, add, trellis):
    baseline = a_contender("baselines/bqml", 0.97, 0.95, 0.98)
    training = a_contender("training/1", 0.9, 0.85, 0.94, selected=True)
    add(a_run(digits, "r", a_board(baseline, training)))
    out = trellis("runs")[1]
    assert says(out, "baselines/bqml", "accuracy", "0.9700 [0.9500, 0.9800]")
    assert says(out, "training/1", "0.9000 [0.8500, 0.9400]")


def test_no_runs(trellis, bucket):
    assert trellis("runs")[:2] == (0, f"No such run in gs://{bucket}.\n")


def test_adding_old_runs(google, digits, bucket, trellis):
    write_files(google.buckets, a_plan_of(digits, "old", bucket), a_board())
    assert "No such run" in trellis("runs")[1]
    out = trellis("runs", "--add-missing")[1]
    assert out.startswith("1 runs were added to the index.")
    assert "digits/old" in out


def test_two_runs_side_by_side(google, digits, bucket, add, trellis):
    better = a_board(a_contender("training/1", 0.99, 0.98, 1, hyperparameters={"filters": 32}))
    for folder, board in {"one": a_board(), "two": better}.items():
        add(a_run(digits, folder, board))
        write_files(google.buckets, a_plan_of(digits, folder, bucket), board)
    code, out, _ = trellis("compare", "digits/one", "digits/two")
    rows = [line.split("  ") for line in out.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert code == 0
    assert ["accuracy ↑", "0.9700 [0.9500, 0.9800]", "0.9900 [0.9800, 1.0000]"] in cells
    assert ["winner.filters", "-", "32"] in cells
    assert "test splits differ" not in out


def test_the_speed_of_trainings_side_by_side(google, digits, bucket, add, trellis):
    board = a_board(a_contender("training/1", 0.9, 0.8, 1, selected=True))
    for folder, speed in {"one": [SPEED], "two": []}.items():
        add(a_run(digits, folder, board))
        made = write_files(google.buckets, a_plan_of(digits, folder, bucket), board)
        a_training(made / "training/1", [0.5, 0.75], speed=speed)
    out = trellis("compare", "digits/one", "digits/two")[1]
    cells = [[c.strip() for c in line.split("  ") if c.strip()] for line in out.splitlines()]
    shown = {name: values for name, *values in filter(None, cells)}
    assert shown["examples a second"] == ["1,250", "not measured"]
    assert shown["most of its time"] == ["input 62%", "not measured"]
    assert shown["CPU"] == ["50%", "not measured"]
    assert shown["memory"] == ["2.0 GB", "not measured"]
    assert shown["read"] == ["40.0 MB", "not measured"]
    assert shown["GPU"] == ["75%, 3.0 GB", "not measured"]


def test_two_trainings_of_one_run_side_by_side(google, digits, bucket, add, trellis):
    """Neither is the winner."""
    board = a_board(
        a_contender("baselines/bqml", 0.99, 0.98, 1),
        *(
            a_contender(f"training/{n}", 0.9 + n / 100, 0.8, 1, hyperparameters={"filters": 8 * n})
            for n in (1, 2)
        ),
    )
    add(a_run(digits, "one", board))
    write_files(google.buckets, a_plan_of(digits, "one", bucket), board)
    code, out, _ = trellis("compare", "digits/one/training/1", "digits/one/training/2")
    rows = [line.split("  ") for line in out.splitlines()]
    cells = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    assert code == 0
    assert ["its contender", "training/1", "training/2"] in cells
    assert ["accuracy ↑", "0.9100 [0.8000, 1.0000]", "0.9200 [0.8000, 1.0000]"] in cells
    assert ["contender.filters", "8", "16"] in cells
    assert "bqml" not in out
    code, _, errors = trellis("compare", "digits/one", "digits/one/training/9")
    assert code == 1
    assert says(errors, "'training/9'", "baselines/bqml, training/1, training/2")


def test_a_run_is_named_annotated_and_found(digits, add, trellis):
    add(a_run(digits, "one"))
    add(a_run(digits, "two"))
    code, out, _ = trellis("note", "digits/one", "half the rate", "--name", "slow")
    assert (code, out.splitlines()[0]) == (0, "digits/one")
    assert "its name was slow" in trellis("note", "digits/slow", "--name", "slower")[1]
    code, _, errors = trellis("note", "digits/two", "--name", "slower")
    assert code == 1
    assert says(errors, "slower is the name of one")
    told = trellis("note", "digits/one")[1].splitlines()
    assert told[1].endswith(": named slow. half the rate")
    assert told[2].endswith(": named slower")
    listed = trellis("runs", "--search", "RATE half")[1]
    assert "digits/slower" in listed
    assert "digits/two" not in listed


def test_a_run_that_is_not_there(digits, add, trellis):
    add(a_run(digits, "one"))
    code, _, errors = trellis("compare", "digits/two")
    assert code == 1
    assert says(errors, "digits", "no run 'two'", "newest are one")
    assert says(trellis("compare", "digit")[2], "no run of 'digit'", "did you mean 'digits'")


def test_a_bucket_that_is_not_there(google, dags, trellis):
    text = (dags / "platform.yaml").read_text()
    (dags / "platform.yaml").write_text(text.replace("bucket: results-", "bucket: no-"))
    code, _, errors = trellis("runs")
    assert code == 1
    assert "bucket does not exist" in errors


def test_the_digest_of_the_last_days(digits, add, trellis):
    now = datetime.now(UTC).isoformat(timespec="seconds")
    add(a_run(digits, "new", created=now))
    add(a_run(digits, "old", created="2026-01-01T00:00:00+00:00"))
    code, out, _ = trellis("digest", "--days", "2")
    assert code == 0
    assert says(out.splitlines()[0], ": 1 run, ", " 1 without a result")
    assert "digits/old" not in out
    with pytest.raises(SystemExit):
        trellis("digest", "--days", "0")


def test_a_run_is_written_up(run, digits, add, bucket, tmp_path, trellis):
    add(a_run(digits, "r", a_board(), bucket=bucket))
    code, out, _ = trellis("methods", "digits")
    assert code == 0
    for part in ("## Methods", "# Model card: digits", "# TRIPOD+AI checklist", "@software{"):
        assert part in out
    paper = tmp_path / "paper"
    assert trellis("export", "digits/r", "--to", str(paper))[0] == 0
    assert (paper / "figures/roc.pdf").exists()
    code, _, err = trellis("export", "digits/r", "--to", str(paper))
    assert code == 1
    assert "has files already" in err
    code, _, err = trellis("methods", "digts")
    assert code == 1
    assert "did you mean 'digits'?" in err
