"""The number of replicas as a function of load and time."""

from hypothesis import given
from hypothesis import strategies as st

from local_gcp.vertex.endpoints import scaling
from local_gcp.vertex.endpoints.deployment import Deployment, Launch


def deployment(least=1, most=4):
    launch = Launch(["serve"], {}, {}, "/", "/health", "/predict", 60.0)
    made = Deployment("endpoint", "1", "model@1", launch, least, most, least, {}, "model", None)
    for _ in range(least):
        made.add_replica()
    return made


def run(made, loads):
    """The numbers of replicas, when each number of requests is in flight for a second."""
    counts = []
    for second, in_flight in enumerate(loads):
        wanted = scaling.wanted(made, in_flight, 1.0, float(second))
        while len(made.replicas) < wanted:
            made.add_replica()
        del made.replicas[wanted:]
        counts.append(wanted)
    return counts


@given(st.lists(st.integers(0, 100), max_size=200), st.integers(1, 3), st.integers(0, 5))
def test_never_fewer_than_the_least_or_more_than_the_most(loads, least, more):
    counts = run(deployment(least, least + more), loads)
    assert all(least <= count <= least + more for count in counts)


def test_it_grows_with_the_load_and_shrinks_with_patience():
    counts = run(deployment(), [12] * 30 + [0] * 200)
    assert counts[29] == 3, "four requests for each"
    assert counts[30 + 55] == 3, "not at once"
    assert counts[30 + 70] == 2, "one"
    assert counts[-1] == 1, "and then the other"


def test_a_short_burst_starts_nothing():
    assert set(run(deployment(), [2] * 10 + [12] + [2] * 10)) == {1}


def test_what_is_stored_is_enough_to_find_the_processes_again():
    made = deployment(least=2)
    made.replicas[1].port, made.replicas[1].leaving = 1234, True
    made.replicas[0].ready, made.load = True, 3.0
    again = Deployment.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert (again.replicas[1].port, again.replicas[1].leaving) == (1234, True)
    assert not again.replicas[0].ready, "found out anew"
