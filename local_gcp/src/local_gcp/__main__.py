"""`python -m local_gcp`: start, stop and look into a Google Cloud on this machine."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import sys

from local_gcp import daemon
from local_gcp.environment import client_environment
from local_gcp.home import Home
from local_gcp.report import follow_logs, job_logs, status_lines

HELP = """\
Google Cloud on one machine: Cloud Storage and Vertex AI jobs for unchanged clients.

  python -m local_gcp up                     start in the background (or say that it runs)
  eval "$(python -m local_gcp env)"          lead the Google clients of this shell to it
  python -m local_gcp status                 jobs, replicas and trials, with their last lines
  python -m local_gcp logs JOB               what a job printed
  python -m local_gcp down                   end jobs and server; data stays in the home

Everything listens on loopback only. In the environment that `env` prints, clients reach nothing
outside this machine: other hosts are refused with a message.
"""

HOME_HELP = "folder of all state (default: $LOCAL_GCP_HOME, else ./.local/gcp)"


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(Home.find(options.home), options)
    except daemon.DaemonError as error:
        print(f"local_gcp: {error}", file=sys.stderr)
        return error.exit_code


def _up(home: Home, options: argparse.Namespace) -> int:
    # Environment variables reach the server however it is started: here, in the background, or by
    # a process supervisor that sets them itself.
    for name in ("cores", "preemption_rate", "preemption_seed"):
        value = getattr(options, name)
        if value is not None:
            os.environ[f"LOCAL_GCP_{name.upper()}"] = str(value)
    if options.foreground:
        daemon.configure_logging()
        daemon.run(home)
        return 0
    print("local_gcp is up" if daemon.start(home) else "local_gcp runs already")
    endpoints = home.endpoints()
    print(f"  home      {home.root}")
    print(f"  buckets   {home.buckets}  (plain files, gs://BUCKET/OBJECT)")
    print(f"  status    {endpoints.http_url}/local_gcp/status")
    print(f"  log       {home.log}")
    print('  clients   eval "$(python -m local_gcp env)"')
    return 0


def _down(home: Home, _options: argparse.Namespace) -> int:
    print("local_gcp stopped" if daemon.stop(home) else "local_gcp was not running")
    return 0


def _status(home: Home, options: argparse.Namespace) -> int:
    status = daemon.ask(home, "status")
    print(json.dumps(status, indent=2) if options.json else "\n".join(status_lines(status)))
    return 0


def _env(home: Home, options: argparse.Namespace) -> int:
    # The ports are chosen here if they never were: the environment may be asked for before `up`.
    home.create()
    variables = client_environment(home, home.choose_endpoints())
    if options.json:
        print(json.dumps(variables, indent=2))
    else:
        print("\n".join(f"export {name}={shlex.quote(v)}" for name, v in variables.items()))
    return 0


def _logs(home: Home, options: argparse.Namespace) -> int:
    def status() -> dict:
        return daemon.ask(home, "status")

    follow = follow_logs(status, options.job) if options.follow else None
    with contextlib.suppress(KeyboardInterrupt):
        for line in follow or job_logs(status(), options.job):
            print(line, flush=True)
    return 0


def _preempt(home: Home, options: argparse.Namespace) -> int:
    daemon.ask(home, "preempt", post=True, job=options.job)
    print(f"Preempted {options.job}: its replicas end as on a reclaimed spot machine.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m local_gcp",
        description=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--home", help=HOME_HELP)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, function, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help)
        sub.add_argument("--home", default=argparse.SUPPRESS, help=HOME_HELP)
        sub.set_defaults(command=function)
        return sub

    up = command("up", _up, "start in the background and return when healthy; does no harm twice")
    up.add_argument(
        "--foreground", action="store_true", help="stay until SIGTERM or SIGINT, log to stderr"
    )
    up.add_argument(
        "--cores",
        type=int,
        metavar="N",
        help="replicas that may run at once, others wait; each uses its share of the machine's "
        "cores (default: one for each core)",
    )
    up.add_argument(
        "--preemption-rate",
        type=float,
        metavar="R",
        help="preempt each replica of spot jobs R times a minute on average (default: never)",
    )
    up.add_argument(
        "--preemption-seed",
        type=int,
        metavar="S",
        help="with the same seed the same jobs are preempted at the same age (default: 0)",
    )
    command("down", _down, "end the server and its jobs, which start again at the next up")
    status = command("status", _status, "show jobs, replicas and trials")
    status.add_argument("--json", action="store_true", help="as JSON, with every field")
    env = command("env", _env, "print the environment that leads Google's clients here")
    env.add_argument("--json", action="store_true", help="as a JSON object, not as export lines")
    logs = command("logs", _logs, "print what the replicas of a job wrote")
    logs.add_argument("job", help="resource name, its last part, or display name")
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the job has ended")
    preempt = command("preempt", _preempt, "take the machine away from a running spot job")
    preempt.add_argument("job", help="resource name or its last part")
    return parser


if __name__ == "__main__":
    sys.exit(main())
