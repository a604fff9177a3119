"""Words as numbers."""

import pytest

from trainer import text
from trainer.text import BUCKETS
from trellis_contracts.decoded import MAX_NUMBERS, MAX_WORDS


def numbers(*texts):
    return text.numbers(list(texts)).to_list()


def test_a_text_has_a_number_for_each_word_and_each_pair_of_neighbours():
    (small, cell), (both) = numbers("small", "cell"), numbers("small cell")
    assert both[0][:2] == [*small, *cell]
    assert len(both[0]) == 3
    assert all(1 <= number <= BUCKETS for number in both[0])


def test_the_order_of_words_is_in_their_pairs():
    forth, back = numbers("no mass", "mass no")
    assert set(forth[:2]) == set(back[:2])
    assert forth[2] != back[2]


@pytest.mark.parametrize("written", ["Größe 2,5 cm", "GRÖSSE: 2.5 cm!", "  größe\n2-5 (cm) "])
def test_case_and_what_stands_between_words_make_no_difference(written):
    plain = "grösse 2 5 cm" if "GRÖSSE" in written else "größe 2 5 cm"
    assert numbers(written) == numbers(plain)


@pytest.mark.parametrize("empty", ["", "   ", "-- . !"])
def test_a_text_without_a_word_has_no_number(empty):
    assert numbers(empty) == [[]]


def test_only_the_first_words_are_read():
    words = [f"w{number}" for number in range(MAX_WORDS + 5)]
    long, most = numbers(" ".join(words), " ".join(words[:MAX_WORDS]))
    assert long == most
    assert len(long) == MAX_NUMBERS


def test_the_numbers_are_as_ever():
    """A model learns them; another hash would make all its words others."""
    assert numbers("benign", "no mass", "日本") == [[13237], [3473, 304, 5617], [3020]]
