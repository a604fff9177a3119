"""The page of the contract is made from the tables that enforce it."""

import re

import pytest

from trellis_contracts.program import page, terms
from trellis_contracts.program.forms import FORMS
from trellis_contracts.tasks import BY_PROGRAMS, TASKS, family_of
from trellis_contracts.training import Training

TABLES = (
    *(terms.VARIABLES, terms.FLAGS, terms.DATASET, terms.RULES, terms.SERVER, terms.ANSWERS),
    *(form.texts() for form in FORMS.values()),
)


def test_the_page_has_every_term():
    text = page.text()
    for table in TABLES:
        for name, about in table.items():
            assert name in text
            assert about.replace("|", r"\|") in text
    for output in terms.OUTPUTS:
        assert f"`{output.name}`" in text


@pytest.mark.parametrize("task", BY_PROGRAMS)
def test_it_names_the_columns_and_the_metadata_of_a_tasks_predictions(task):
    entry, about = TASKS[task], FORMS[family_of(task)].predictions
    assert re.findall(r"(\w+) \(([\w<>]+)\):", about) == [*entry.predictions.items()]
    assert set(entry.metadata) <= {*re.findall(r"\w+", about.partition("Metadata: ")[2])}


def test_its_metrics_are_those_that_a_program_may_leave():
    (shown,) = re.findall(r"(?s)```json\n(.*?)```", page.text())
    found = Training.parse(shown, "metrics.json")
    assert found == page.EXAMPLE
    assert found.strategy == terms.PROGRAM
    assert {found.metric, "loss"} <= found.validation.keys()
