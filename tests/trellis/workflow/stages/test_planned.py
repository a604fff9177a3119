"""Fields of operators that are made from the run's plan."""

from trellis.workflow.stages.planned import planned


def test_the_fields_of_an_operator_read_the_plan_once():
    reads = []

    def load(experiment, platform, run_id):
        reads.append((experiment, platform, run_id))
        return {"epochs": 4, "trials": 3}

    def epochs(plan, platform):
        return plan["epochs"]

    def trials(plan, platform):
        return plan["trials"]

    context = {"run_id": "r"}
    fields = [planned("digits", "lab", make, load=load) for make in (epochs, trials)]
    assert [field(context, None) for field in fields] == [4, 3]
    assert reads == [("digits", "lab", "r")]
