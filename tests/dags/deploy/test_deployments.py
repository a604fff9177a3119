"""Whole deployments, with real serving processes."""


def test_the_first_and_the_second_deployment(deployments, states):
    these = deployments()
    run = these.run()
    assert run.state == "success", states(run)
    assert these.traffic == {"1": 100}
    assert these.aliases == {"champion": "1"}

    run = these.run()
    assert run.state == "success", states(run)
    assert these.traffic == {"2": 100}
    assert these.aliases == {"champion": "2", "previous": "1"}
