"""The page of the contract is made from the tables that enforce it."""

from trellis_contracts.program import page, terms

TABLES = (terms.VARIABLES, terms.FLAGS, terms.DATASET, terms.RULES, terms.SERVER, terms.ANSWERS)


def test_the_page_has_every_term():
    text = page.text()
    for table in TABLES:
        for name, about in table.items():
            assert name in text
            assert about.replace("|", r"\|") in text
    for output in terms.OUTPUTS:
        assert f"`{output.name}`" in text
