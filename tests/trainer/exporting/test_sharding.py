"""The number of files of each split."""

from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting.sharding import by_bytes

MB = 1e6


@given(st.integers(1, 20), st.floats(1200 * MB, 1e12))
def test_files_of_large_data_have_100_to_200_mb(least, bytes_):
    assert 100 * MB < bytes_ / by_bytes(least, 10**9, bytes_) < 200 * MB or least > bytes_ / 150e6


def test_few_bytes_have_the_least_number_and_no_file_is_empty():
    assert by_bytes(8, 1797, 0.3 * MB) == 8
    assert by_bytes(8, 5, 0.3 * MB) == 5


def test_ten_million_images_of_110_kb():
    assert by_bytes(8, 10**7, 1.1e12) == 7333
