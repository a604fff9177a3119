"""`trellis endpoints`: what the group's endpoints cost a day, and who asks them."""

import argparse
import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from trellis import command_line
from trellis.google_api import GoogleApi
from trellis.results.table import table
from trellis.workflow.spec import platform

_DAYS = 14


def add(commands: Any) -> None:
    """The command's arguments. commands: argparse's subparsers."""
    endpoints = commands.add_parser(
        "endpoints", help="list endpoints with their cost a day and their predictions"
    )
    command_line.add_folder(endpoints, "which names project and region")
    endpoints.add_argument(
        "--days",
        type=int,
        default=_DAYS,
        metavar="N",
        help=f"an endpoint is idle without requests for N days, at most 42 (default: {_DAYS})",
    )
    endpoints.add_argument("--json", action="store_true", help="print JSON")
    endpoints.add_argument(
        "--undeploy",
        action="store_true",
        help="list the models of idle endpoints that --yes would undeploy",
    )
    endpoints.add_argument("--yes", action="store_true", help="with --undeploy: undeploy them")
    endpoints.set_defaults(handler=run)


def run(options: argparse.Namespace, now: datetime | None = None) -> int:
    """List the endpoints, undeploy idle ones if asked; return 1 if their use is not known."""
    from trellis.workflow.endpoints.monitoring import LONGEST_DAYS
    from trellis.workflow.endpoints.survey import client_of, survey

    if not 1 <= options.days <= LONGEST_DAYS:
        print(f"--days must be from 1 to {LONGEST_DAYS}: Google keeps no more", file=sys.stderr)
        return 2
    group = platform.load(options.folder)
    api = GoogleApi()
    client = client_of(group, api)
    found = survey(client, api, group, now or datetime.now(UTC), options.days)
    if options.json:
        print(json.dumps([each.to_json() for each in found.endpoints], indent=2))
    else:
        print("\n".join(_lines(found.endpoints, options.days, group)))
    if options.undeploy and found.refused is None:
        _undeploy(client, found.idle, options.yes)
    if found.refused is not None:
        print(_refusal(found.refused, group.project, options.undeploy), file=sys.stderr)
        return 1
    return 0


def _lines(endpoints: Iterable[Any], days: int, group: platform.Platform) -> list[str]:
    rows = [
        [
            each.experiment,
            ", ".join(f"{m.version} {m.share}%" for m in each.models) or "nothing",
            ", ".join(f"{_span(m.replicas)} x {m.machine}" for m in each.models),
            "?" if each.usd_per_day is None else f"{each.usd_per_day:.2f} USD",
            "?" if each.predictions is None else str(each.predictions),
            f"{each.last:%Y-%m-%d %H:%M}" if each.last else "",
            str(each.state),
        ]
        for each in endpoints
    ]
    if not rows:
        return [f"No experiment has an endpoint in {group.project}, {group.region}."]
    heads = ["experiment", "deployed", "machines", "a day", f"in {days} days", "last request", ""]
    return table(heads, rows)


def _span(replicas: tuple[int, int]) -> str:
    least, most = replicas
    return str(least) if least == most else f"{least} to {most}"


def _undeploy(client: Any, idle: Iterable[Any], yes: bool) -> None:
    from trellis.workflow.endpoints.state import removal_order
    from trellis.workflow.endpoints.survey import undeploy

    would = 0
    for endpoint in idle:
        if not yes:
            for model in removal_order(endpoint):
                print(f"Would undeploy {model.version} from {endpoint.name}", file=sys.stderr)
                would += 1
            continue
        versions = list(undeploy(client, endpoint))
        for version in versions:
            print(f"Undeployed {version} from {endpoint.name}", file=sys.stderr)
        if not versions:
            print(f"{endpoint.name} was changed meanwhile: it stays", file=sys.stderr)
    if would:
        print("Nothing was undeployed. With --yes it is.", file=sys.stderr)


def _refusal(refused: Any, project: str, undeploy: bool) -> str:
    lines = [f"Cloud Monitoring has no counts of requests: {refused.message}"]
    if refused.disabled:
        lines.append(f"gcloud services enable {refused.disabled} --project={project}")
    elif refused.status == 403:
        lines.append("It needs monitoring.timeSeries.list, as in roles/monitoring.viewer.")
    if undeploy:
        lines.append("So nothing was undeployed.")
    return "\n".join(lines)
