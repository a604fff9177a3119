import pytest

from trellis_contracts import byte_size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (54_200, "54.2 kB"),
        (7_000_000, "7.0 MB"),
        (2_500_000_000, "2.5 GB"),
        (3e15, "3000.0 TB"),
    ],
)
def test_bytes_have_the_largest_unit_of_which_there_is_one(count, text):
    assert byte_size.text(count) == text
