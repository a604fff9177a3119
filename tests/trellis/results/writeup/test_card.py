from dataclasses import replace

from tests.trellis.results.made import an_approval
from tests.trellis.results.writeup.parsed import cells
from trellis.results.writeup import card


def test_the_card_names_the_selected_training_and_who_approved_it(gather, put):
    put("digits/runs/r/approval.json", an_approval("approved", "olga", None))
    text = card.text(gather())
    assert text.startswith("# Model card: digits, training/1\n")
    rows = cells(text, "contender")
    assert rows[0][:2] == ["`training/1` (winner, selected)", "0.9000 [0.8000, 0.9500]"]
    assert "olga approved it" in text
    assert "[OPEN: who may use it" in text


def test_the_card_begins_with_what_the_file_says_of_itself(gather):
    f = gather()
    about = "Who recurs? The women of\nthree sites.\n\nTwo minutes on a laptop."
    text = card.text(replace(f, plan=replace(f.plan, description=about)))
    assert text.splitlines()[2] == "Who recurs? The women of three sites."
