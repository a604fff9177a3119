"""`local-gcp chaos`: starts, shows and ends fault injection."""

from __future__ import annotations

import argparse
import dataclasses
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from local_gcp.chaos import storm
from local_gcp.daemon import DaemonError
from local_gcp.home import Home

HELP = "inject faults: slow, refused and lost requests"
EXAMPLES = """\
examples:
  local-gcp chaos --503 5% --429 5% --lost 2% --latency 200      affects every request
  local-gcp chaos --method CreateCustomJob --lost 100% --for 1m  creates jobs without response
  local-gcp chaos --method 'POST *bigquery*/jobs' --503 0.5      half of BigQuery's new jobs
  local-gcp chaos                                                show the storm
  local-gcp chaos --off                                          end it

A request's name is `google.cloud.aiplatform.v1.JobService.CreateCustomJob` for gRPC, and
`POST bigquery.googleapis.com/bigquery/v2/projects/p/jobs` for HTTP. A pattern matches any part of
it, in upper or lower case. Each call adds a rule: latencies add up, and the first fault applies.

Requests with 503 and 429 are not executed. Lost requests are executed, then their connection closes
(gRPC clients see UNAVAILABLE). With the same seed, the same requests of each method since the
server's start are affected. The rules are stored in the home: they remain after a restart, also
after kill -9, and may be set before `up`. `local-gcp status` shows them.
"""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?")
_SECONDS = {None: 1, "s": 1, "m": 60, "h": 3600}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    share = "SHARE"
    parser.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only requests whose name contains this; may be repeated (default: every request)",
    )
    parser.add_argument(
        "--latency", type=float, default=0.0, metavar="MS", help="delay of each in milliseconds"
    )
    parser.add_argument(
        "--503",
        dest="unavailable",
        type=_share,
        default=0.0,
        metavar=share,
        help="refuse this share (5%% or 0.05) with 503, in gRPC UNAVAILABLE",
    )
    parser.add_argument(
        "--429",
        dest="exhausted",
        type=_share,
        default=0.0,
        metavar=share,
        help="refuse this share with 429, in gRPC RESOURCE_EXHAUSTED",
    )
    parser.add_argument(
        "--lost",
        type=_share,
        default=0.0,
        metavar=share,
        help="execute this share, and close the connection before the response",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random choice")
    parser.add_argument(
        "--for",
        dest="seconds",
        type=_duration,
        metavar="TIME",
        help="end after 90s, 10m or 1h (default: at --off)",
    )
    parser.add_argument("--off", action="store_true", help="end the storm: remove all rules")


def run(home: Home, options: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    home.create()
    if options.off:
        storm.write(home.chaos_file, [])
        print("The storm is over.")
        return 0
    rules = storm.read(home.chaos_file)
    faults = (options.unavailable, options.exhausted, options.lost)
    if options.latency or any(faults):
        if sum(faults) > 1:
            raise DaemonError("--503, --429 and --lost add up to more than 100%.")
        if not 0 <= options.latency <= 600_000:
            raise DaemonError(f"--latency {options.latency:g} is not 0 to 600000 milliseconds.")
        until = None if options.seconds is None else time.time() + options.seconds
        rule = storm.Rule(
            options.method, options.latency / 1000, *faults, seed=options.seed, until=until
        )
        rules.append(rule)
        storm.write(home.chaos_file, rules)
    elif options.method or options.seconds:
        raise DaemonError("Nothing would happen: give --latency, --503, --429 or --lost.")
    print("\n".join(lines([dataclasses.asdict(rule) for rule in rules])) or "There is no storm.")
    return 0


def lines(rules: list[Mapping[str, Any]]) -> Iterator[str]:
    """The rules for a terminal, one line each, with `met` of `Storm.describe` if given."""
    for rule in rules:
        what = [f"{rule['latency'] * 1000:g} ms"] if rule["latency"] else []
        shares = {"503": "unavailable", "429": "exhausted", "lost": "lost"}
        what += [f"{name} {rule[key]:.3g}" for name, key in shares.items() if rule[key]]
        where = ", ".join(rule["methods"]) or "every request"
        left = f", {rule['until'] - time.time():.0f} s left" if rule["until"] else ""
        met = rule.get("met") or {}
        counts = [f"{n} {name}" for name, n in sorted(met.items()) if name != "requests"]
        so_far = f"; so far of {met['requests']} requests: {', '.join(counts)}" if counts else ""
        yield f"storm  {' '.join(what)}  on {where}{left}{so_far}"


def _share(text: str) -> float:
    number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share: 0% to 100%, or 0 to 1")
    return number


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90s, 10m or 1h")
    return float(match[1]) * _SECONDS[match[2]]
