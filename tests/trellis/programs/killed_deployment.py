"""Deployments whose process is lost right after a call of Vertex AI, by kill -9; then a second one.

killed_deployment.py FLOW CALLS...    CALLS: their numbers, or names of methods (the first call)
killed_deployment.py FLOW             after each call that the flow makes

With the environment of the test that starts it. Prints a JSON line for each kill:
{"call": 7, "method": "deploy_model", "lost": STATE when it was lost, "after": STATE in the end}
STATE: {"versions": [[number, aliases], ...], "shares": {version's number: percent}, "traffic": the
endpoint's sum of percents, "strays": ids that have traffic and are not deployed}

Every deployment has its own process, forked from this one, which imports all and calls nothing.
"""

import json
import os
import signal
import sys

from tests.trellis.vertex import deploying
from tests.trellis.vertex.deploying import PARENT, PLACE, run
from trellis.vertex import endpoints, models, undeployment
from trellis.vertex.models import AliasOperator, DeleteOldVersionsOperator
from trellis.vertex.undeployment import RetreatOperator, UndeployIdleOperator


def forward(name):
    """A second version, from its registration to all traffic and the alias."""
    challenger = deploying.register(name)
    endpoint = deploying.make_endpoint(name)
    deploying.deploy(endpoint, challenger, 10)
    deploying.shift(endpoint, challenger, 50)
    deploying.shift(endpoint, challenger, 100)
    arguments = {"alias": "champion", "previous": "previous", "drop": ["challenger"]}
    run(AliasOperator(task_id="alias", model_id=challenger, **arguments, **PLACE))
    run(UndeployIdleOperator(task_id="idle", endpoint_id=endpoint, **PLACE))
    run(DeleteOldVersionsOperator(task_id="retention", model_id=challenger, keep=2, **PLACE))


def back(name):
    """A second version, deployed and taken back."""
    challenger = deploying.register(name)
    endpoint = deploying.make_endpoint(name)
    deploying.deploy(endpoint, challenger, 50)
    run(RetreatOperator(task_id="retreat", endpoint_id=endpoint, model=challenger, **PLACE))


def before(name):
    """Prepare a champion with all traffic, and older versions for the retention."""
    endpoint = deploying.make_endpoint(name)
    deploying.register(name, run_id="older", aliases=())
    deploying.register(name, run_id="old", aliases=())
    champion = deploying.register(name, run_id="before", aliases=["champion"])
    deploying.deploy(endpoint, champion)


def state(name):
    """See the module."""
    registry, served = deploying.clients()
    endpoint = served.get_endpoint(name=f"{PARENT}/endpoints/{name}")
    split = dict(endpoint.traffic_split)
    versions = registry.list_model_versions(name=f"{PARENT}/models/{name}")
    return {
        "versions": sorted([v.version_id, sorted(v.version_aliases)] for v in versions),
        "shares": {d.model_version_id: split.get(d.id, 0) for d in endpoint.deployed_models},
        "traffic": sum(split.values()),
        "strays": sorted(set(split) - {d.id for d in endpoint.deployed_models}),
    }


class Dying:
    """A client of which this process dies after one of its calls; counts those of all clients."""

    calls = 0

    def __init__(self, client, last):
        self._client, self._last = client, last

    def __getattr__(self, method):
        call = getattr(self._client, method)

        def counted(*arguments, **named):
            answer = call(*arguments, **named)
            Dying.calls += 1
            if str(self._last) in (str(Dying.calls), method):
                os.write(LOST, f"{Dying.calls} {method}".encode())
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return counted


def die_after(last):
    """Have this process die after its call number, or first call of the method, `last`."""
    for module, hook in [
        (endpoints, "EndpointServiceHook"),
        (models, "ModelServiceHook"),
        (undeployment, "ModelServiceHook"),
    ]:
        getter = {"E": "get_endpoint_service_client", "M": "get_model_service_client"}[hook[0]]
        real = getattr(module, hook)

        def dying(self, region, real=real, getter=getter):
            return Dying(getattr(real, getter)(self, region), last)

        setattr(module, hook, type(hook, (real,), {getter: dying}))


def forked(work, *arguments):
    """Do some work in a process of its own: (what it says through LOST or returns, its status)."""
    global LOST
    said, LOST = os.pipe()
    if (child := os.fork()) == 0:
        try:
            answer = work(*arguments)
            os.write(LOST, json.dumps(answer).encode())
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    os.close(LOST)
    with open(said) as answer:
        text = answer.read()
    return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def done(work, *arguments):
    """Return the result of some work in a process of its own; it must succeed."""
    text, status = forked(work, *arguments)
    if status:
        sys.exit(f"{work.__name__}{arguments} ended with {status}")
    return json.loads(text)


def lost(flow, name, last):
    """Begin the flow and die."""
    die_after(last)
    flow(name)


if __name__ == "__main__":
    flow = {"forward": forward, "back": back}[sys.argv[1]]
    wanted = sys.argv[2:] or range(1, 1000)
    for number in wanted:
        name = f"{flow.__name__}-{str(number).replace('_', '-')}"
        done(before, name)
        text, status = forked(lost, flow, name, number)
        if status == 0:
            break  # It made fewer calls.
        if status != -signal.SIGKILL:
            sys.exit(f"{name} ended with {status}")
        call, method = text.split()
        kill = {"call": int(call), "method": method, "lost": done(state, name)}
        done(flow, name)
        print(json.dumps({**kill, "after": done(state, name)}), flush=True)
