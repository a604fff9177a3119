"""The page of the contract is made from the tables that enforce it."""

import re

from trellis_contracts.program import page, terms
from trellis_contracts.training import Training

TABLES = (terms.VARIABLES, terms.FLAGS, terms.DATASET, terms.RULES, terms.SERVER, terms.ANSWERS)


def test_the_page_has_every_term():
    text = page.text()
    for table in TABLES:
        for name, about in table.items():
            assert name in text
            assert about.replace("|", r"\|") in text
    for output in terms.OUTPUTS:
        assert f"`{output.name}`" in text


def test_its_metrics_are_those_that_a_program_may_leave():
    (shown,) = re.findall(r"(?s)```json\n(.*?)```", page.text())
    found = Training.parse(shown, "metrics.json")
    assert found == page.EXAMPLE
    assert found.strategy == terms.PROGRAM
    assert {found.metric, "loss"} <= found.validation.keys()
