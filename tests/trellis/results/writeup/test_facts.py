import pytest

from trellis.results.selection import NoRunError


def test_a_run_that_has_not_ended_is_refused(gather, client, bucket):
    client.bucket(bucket).blob("digits/runs/r/leaderboard/leaderboard.json").delete()
    with pytest.raises(NoRunError, match="has no leaderboard: the run has not ended"):
        gather()
