"""The sentences of an approval, as people read them."""

from dataclasses import replace

from trellis_contracts.approval import EXPIRED, Approval

ASKED = Approval(
    run="gs://b/digits/runs/r/",
    challenger="training/1",
    leaderboard="1f",
    approvers=("olga", "role:Op"),
    asked="2026-11-27T13:16:16+00:00",
    until="2026-11-30T15:16:16+02:00",
)


def test_the_end_of_the_wait_is_a_time_that_people_read():
    assert ASKED.summary == "it waits for an answer of olga or role:Op until 2026-11-30 13:16 UTC"
    assert replace(ASKED, state=EXPIRED).summary.endswith("had until 2026-11-30 13:16 UTC")
