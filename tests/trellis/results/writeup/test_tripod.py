import json
import re
from pathlib import Path

from tests.contracts.datasets import categorical, dataset, numeric
from tests.trellis.results.writeup.parsed import cells
from tests.wording import says
from trellis.results.writeup import tripod


def test_the_checklist_is_the_published_one():
    published = json.loads(Path(__file__).with_name("tripod_ai.json").read_text())
    items = [(each["item"], each["title"]) for each in published["items"]]
    assert [(item.number, item.title) for item in tripod.ITEMS] == items
    # As the statement counts: 27 items, 52 with their parts.
    assert ({int(re.match(r"\d+", number)[0]) for number, _ in items}, len(items)) == (
        {*range(1, 28)},
        52,
    )


def test_the_checklist_has_every_item_and_leaves_open_what_no_run_tells(gather):
    f = gather()
    rows = cells(tripod.text(f), "item")
    assert [row[0] for row in rows] == [item.number for item in tripod.ITEMS]
    for item, (_, _, told) in zip(tripod.ITEMS, rows, strict=True):
        assert told, item
        assert (item.tells is None) <= told.startswith("[OPEN: ")
        assert "[OPEN: ]" not in told
    told = {row[0]: row[2] for row in rows}
    assert "accuracy 0.9000 [0.8000, 0.9500]" in told["23a"]
    assert "[OPEN: key subgroups" in told["23a"]
    assert told["24"].startswith("[OPEN: ")
    assert "model/`) predicted each example of the test split" in told["12g"]
    assert "examples, " in told["21"]


def test_the_checklist_has_the_characteristics_and_the_outcome_of_each_split(gather, put):
    ages = numeric("age", [30, 50], missing=2)
    smokes = numeric("smokes", [0, 0, 0, 1], kind="boolean")
    seen = numeric("seen", [0, 86400 * 365], kind="timestamp")
    made = dataset(ages, smokes, seen, categorical("site", "aaabcdefg"))
    made["counts"]["test"] = {"examples": 40, "classes": {"a": 30, "b": 10}}
    put("digits/datasets/3f2a/dataset.json", made)
    told = {row[0]: row[2] for row in cells(tripod.text(gather()), "item")}
    for words in (
        "`age` mean 40 (SD 10), 30 to 50, 50.0% missing",
        "`smokes` true 25.0%",
        "`seen` 1970-01-01 to 1971-01-01",
        "`site` `a` 33.3%, `b` 11.1%, `c` 11.1%, `d` 11.1%, `e` 11.1% and others 22.2%",
    ):
        assert words in told["20b"]
    half, quarter = "500 (50.0%)", "10 (25.0%)"
    facts = f"`b` {half} in train", f"{half} in validation", f"{quarter} in test"
    assert says(told["20c"], facts)
    assert told["20c"].endswith("predictors in the evaluation data]")
