"""Images know by which release their jobs were started."""

from hypothesis import given
from hypothesis import strategies as st

from trellis_contracts import VERSION, job_image

NUMBERS = st.lists(st.integers(0, 99), min_size=3, max_size=3)


def test_jobs_of_the_same_release_and_those_started_by_hand_are_done():
    (variable,) = job_image.variables()
    assert job_image.other_release(variable["value"]) is None
    assert job_image.other_release(None) is None


@given(NUMBERS.map(lambda numbers: ".".join(map(str, numbers))).filter(lambda v: v != VERSION))
def test_any_other_release_is_refused_with_both_versions(version):
    refusal = job_image.other_release(version)
    assert version in refusal
    assert VERSION in refusal
    assert "\n" not in refusal
