"""The end of a run that deploys: what was decided, what is served now, and how to ask it."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from demo import services
from demo.places import ENVIRONMENT_FILE, LOCAL, ROOT
from demo.screen import say

_EXAMPLES = 3
"""Number of instances of the printed request."""

_CURL = (
    "curl -s https://{region}-aiplatform.googleapis.com/v1/{endpoint}:predict "
    "-H 'Content-Type: application/json' -d @{request}"
)
_PYTHON = """\
python - <<'END'
import json
from google.cloud import aiplatform

endpoint = aiplatform.Endpoint("{endpoint}")
instances = json.load(open("{request}"))["instances"]
for prediction in endpoint.predict(instances).predictions:
    print(prediction)
END"""


def state(names: Iterable[str], platform: dict, environment: dict[str, str]) -> dict[str, dict]:
    """Return the models that the endpoints of these experiments serve, by experiment: see
    demo.endpoint_state.
    """
    program = (sys.executable, "-m", "demo.endpoint_state")
    done = subprocess.run(
        [*program, platform["project"], platform["region"], *names],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise services.ServiceError(f"Could not read what is served:\n{done.stderr}")
    return json.loads(done.stdout)


def show_decision(board: dict) -> None:
    """Show whether the selected training was promoted, and why; nothing without a decision."""
    decision = board["promotion"]
    if decision is None:
        return
    verdict = "promoted" if decision["promoted"] else "not promoted"
    say(f"Promotion     {verdict}: {decision['reason']}")
    for check in decision["checks"]:
        say(f"              [{'x' if check['passed'] else ' '}] {_words(check)}")


def show_deployment(record: dict) -> None:
    """Show how the challenger was deployed, or why it was not: a run's deployment.json."""
    say(f"Deployment    {record['state']}" + (f": {record['reason']}" if record["reason"] else ""))
    for step in record["steps"]:
        if "latency_ms" in step:
            say(
                f"              {step['step']}: {step['examples']} test examples, at most "
                f"{step['largest_difference']:.0e} off, median answer {step['latency_ms']:.0f} ms"
            )


def show_endpoint(served: dict) -> None:
    """The endpoint's models, each with its share of the requests."""
    say(f"Endpoint      {served['endpoint']}")
    for model in served["models"]:
        aliases = ", ".join(model["aliases"]) or "no alias"
        replicas = f"{model['replicas']} replica{'s' * (model['replicas'] != 1)}"
        say(
            f"              version {model['version']}: {model['traffic']}% of the requests, "
            f"{aliases}, {replicas}"
        )
    if not served["models"]:
        say("              serves nothing")


def show_how_to_ask(name: str, region: str, endpoint: str, challenger: dict) -> None:
    """A `curl` line and a Python snippet that send real test examples to the endpoint, and, where
    its model explains its answers, a `curl` line that asks for an explanation.

    All can be pasted into a shell unchanged. challenger: challenger.json of a run.
    """
    examples = challenger["examples"]
    # Examples are sorted by key, which often puts images of one class side by side.
    spread = examples[:: max(1, len(examples) // _EXAMPLES)][:_EXAMPLES]
    instances = [example["instance"] for example in spread]
    request = _written(name, {"instances": instances})
    values = {"region": region, "endpoint": endpoint, "request": request}
    say()
    say(f"Ask it ({len(instances)} examples of the test split; paste into a shell):")
    say()
    say(f". {shlex.quote(_near(ENVIRONMENT_FILE, dot=True))}")
    say(_CURL.format_map(values))
    say(_PYTHON.format_map(values))
    if "service" in challenger or any("mask" in example["prediction"] for example in examples):
        return  # neither a model of a service's nor a mask is explained
    explain = {"instances": instances[:1], "parameters": {"explain": {}}}
    say()
    say("Ask why the first one is predicted as it is (docs/how-to/serve.md, Get explanations):")
    say()
    say(_CURL.format_map(values | {"request": _written(f"{name}-explain", explain)}))


def _written(name: str, request: dict) -> str:
    """The path of a file with a request."""
    path = LOCAL / "requests" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(request))
    return _near(path)


def _words(check: dict) -> str:
    return f"{check['check']}: {check['detail']}" if check["detail"] else check["check"]


def _near(path: Path, dot: bool = False) -> str:
    """The path, relative if below the working directory. dot: prefix ./ for the shell's `.`."""
    if not path.is_relative_to(Path.cwd()):
        return str(path)
    near = path.relative_to(Path.cwd())
    return f"./{near}" if dot else str(near)
