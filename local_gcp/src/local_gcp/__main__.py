"""`local-gcp`, or `python -m local_gcp`: Google Cloud on this machine, from the command line."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from local_gcp import chaos_command as chaos
from local_gcp import daemon, project, run_command, variants
from local_gcp.environment import client_environment
from local_gcp.home import Home
from local_gcp.jobs import images
from local_gcp.jobs.machine import Machine
from local_gcp.report import follow_logs, job_logs, status_lines

HELP = """\
Emulates Google Cloud on this machine: Cloud Storage, BigQuery, Vertex AI and Dataflow, for
unchanged clients. Jobs really run, as processes.

  local-gcp up --images images.yaml    start in the background
  eval "$(local-gcp env)"              direct the Google clients of this shell to it
  local-gcp status                     jobs, replicas and trials, each with its last line
  local-gcp logs JOB                   output of a job
  local-gcp down                       stop jobs and server; data stays in the home

  local-gcp run --temporary -- pytest  run a command against its own server

Everything listens on loopback only. In the environment that `env` prints, clients reach nothing
outside this machine: requests to other hosts are refused, and the error names the host.
"""
EXAMPLES = """\
examples:
  local-gcp run -- python train.py         against the server of this home, started if needed
  local-gcp run --temporary -- pytest -x   against an empty one, deleted at the end
"""
HOME_HELP = "folder of all state (default: $LOCAL_GCP_HOME, else ./.local/gcp)"

_PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.command(Home.find(options.home), options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has what it wants (`| head`): what is left to flush goes nowhere, as in
        # https://docs.python.org/3/library/signal.html#note-on-sigpipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except daemon.DaemonError as error:
        print(f"local-gcp: {error}", file=sys.stderr)
        return error.exit_code


def _up(home: Home, options: argparse.Namespace) -> int:
    _settle(home, options)
    if options.foreground:
        daemon.configure_logging()
        daemon.run(home)
        return 0
    print("local_gcp is up" if daemon.start(home) else "local_gcp is already up")
    endpoints = home.choose_endpoints()
    print(f"  home      {home.root}")
    print(f"  project   {project.project_id()}")
    print(f"  buckets   {home.buckets}  (plain files, gs://BUCKET/OBJECT)")
    print(f"  status    {endpoints.http_url}/local_gcp/status")
    print(f"  log       {home.log}")
    print('  clients   eval "$(local-gcp env)"')
    return 0


def _run(home: Home, options: argparse.Namespace) -> int:
    command = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not command:
        raise daemon.DaemonError("Nothing to run. Usage: local-gcp run [OPTIONS] -- COMMAND ...")
    if options.temporary:
        with run_command.temporary_home() as temporary:
            return _run_with(temporary, options, command)
    return _run_with(home, options, command)


def _run_with(home: Home, options: argparse.Namespace, command: list[str]) -> int:
    with run_command.Command(command) as running:
        _settle(home, options)
        with run_command.server(home):
            return running.run(_variables(home))


def _down(home: Home, _options: argparse.Namespace) -> int:
    print("local_gcp stopped" if daemon.stop(home) else "local_gcp was not running")
    return 0


def _status(home: Home, options: argparse.Namespace) -> int:
    status = daemon.ask(home, "status")
    print(json.dumps(status, indent=2) if options.json else "\n".join(status_lines(status)))
    return 0


def _env(home: Home, options: argparse.Namespace) -> int:
    _settle_project(home, None)
    variables = _variables(home)
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


def _fail(home: Home, options: argparse.Namespace) -> int:
    daemon.ask(home, "fail", post=True, job=options.job)
    print(f"Failed {options.job}: it ends with INTERNAL, as by an error of Google's own.")
    return 0


def _variables(home: Home) -> dict[str, str]:
    # Chooses the ports if there are none: `env` may be called before `up`.
    home.create()
    variables = client_environment(home, home.choose_endpoints())
    paths = [variables["PYTHONPATH"], *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return {**variables, "PYTHONPATH": os.pathsep.join(dict.fromkeys(filter(None, paths)))}


def _settle(home: Home, options: argparse.Namespace) -> None:
    """Check the options of `up` and set them as environment variables.

    As variables they reach the server however it is started: here, in the background, or by a
    process supervisor that sets them itself.
    """
    given = {
        "LOCAL_GCP_CORES": options.cores,
        "LOCAL_GCP_PREEMPTION_RATE": options.preemption_rate,
        "LOCAL_GCP_PREEMPTION_SEED": options.preemption_seed,
        project.REGIONS_VARIABLE: options.regions,
        images.FILES: os.pathsep.join(map(os.path.abspath, options.images or ())) or None,
    }
    if options.variant:
        before = filter(None, [os.environ.get(variants.VARIABLE)])
        given[variants.VARIABLE] = ",".join([*before, *options.variant])
    os.environ |= {name: str(value) for name, value in given.items() if value is not None}
    for region in project.known_regions():
        if not _REGION.fullmatch(region):
            raise daemon.DaemonError(f"{region!r} is not a region such as europe-west4.")
    try:
        for file in images.image_files():
            images.read_images(file)
        variants.Variants.from_environment()
        Machine.from_environment(os.environ)
    except (images.ImageError, variants.VariantError, ValueError) as error:
        raise daemon.DaemonError(str(error)) from None
    _settle_project(home, options.project)


def _settle_project(home: Home, requested: str | None) -> None:
    requested = requested or os.environ.get(project.PROJECT_VARIABLE)
    if requested and not _PROJECT.fullmatch(requested):
        raise daemon.DaemonError(
            f"{requested!r} is not a project ID: 6 to 30 of a-z, 0-9 and -, a letter first."
        )
    home.create()
    try:
        os.environ[project.PROJECT_VARIABLE] = home.choose_project(requested)
    except ValueError as error:
        raise daemon.DaemonError(str(error)) from None


def _parser() -> argparse.ArgumentParser:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="local-gcp", description=HELP, formatter_class=formatter)
    parser.add_argument("--home", help=HOME_HELP)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(
        name: str, function: Callable[..., int], help: str, examples: str = ""
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name, help=help, description=help, epilog=examples, formatter_class=formatter
        )
        sub.add_argument("--home", default=argparse.SUPPRESS, help=HOME_HELP)
        sub.set_defaults(command=function)
        return sub

    explained = "\n  ".join(["variants, the default first:", *variants.described()])
    help_ = "start in the background, return when healthy; does nothing if it is up"
    up = command("up", _up, help_, explained)
    up.add_argument(
        "--foreground", action="store_true", help="stay until SIGTERM or SIGINT, log to stderr"
    )
    _add_server_options(up)
    env = command("env", _env, "print the environment that directs Google's clients here")
    env.add_argument("--json", action="store_true", help="as a JSON object, not as export lines")
    run = command("run", _run, "run a command against a server; returns its exit code", EXAMPLES)
    run.add_argument(
        "--temporary",
        action="store_true",
        help="use a server with an empty home, deleted at the end",
    )
    _add_server_options(run)
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND [ARGUMENT ...]")
    status = command("status", _status, "show jobs, replicas and trials")
    status.add_argument("--json", action="store_true", help="as JSON, with every field")
    logs = command("logs", _logs, "print the output of the replicas of a job")
    logs.add_argument("job", help="resource name, its last part, or display name")
    logs.add_argument(
        "-f", "--follow", action="store_true", help="continue until the job has ended"
    )
    preempt = command("preempt", _preempt, "preempt the machine of a running spot job")
    preempt.add_argument("job", help="resource name or its last part")
    fail = command("fail", _fail, "fail a running job with INTERNAL, by no fault of its program")
    fail.add_argument("job", help="resource name or its last part")
    storm = command("chaos", chaos.run, chaos.HELP, chaos.EXAMPLES)
    chaos.add_options(storm)
    command("down", _down, "stop the server and its jobs, which start again at the next up")
    return parser


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--images",
        action="append",
        metavar="FILE",
        type=Path,
        help="the local environments that replace container images; may be repeated, the first "
        "match wins (default: $LOCAL_GCP_IMAGES)",
    )
    parser.add_argument(
        "--project",
        metavar="ID",
        help=f"the only project, fixed for a home (default: {project.DEFAULT_PROJECT})",
    )
    parser.add_argument(
        "--regions",
        metavar="R,R",
        help="regions of Vertex AI and Dataflow (default: all of Vertex AI's)",
    )
    parser.add_argument(
        "--cores",
        type=int,
        metavar="N",
        help="replicas that may run at once, others wait; each uses its share of the machine's "
        "cores (default: one for each core)",
    )
    parser.add_argument(
        "--preemption-rate",
        type=float,
        metavar="R",
        help="preempt each replica of spot jobs R times a minute on average (default: never)",
    )
    parser.add_argument(
        "--preemption-seed",
        type=int,
        metavar="S",
        help="seed of the preemptions: the same jobs at the same age (default: 0)",
    )
    parser.add_argument(
        "--variant",
        action="append",
        metavar="NAME=VALUE",
        help="choose the behaviour where Google's documentation leaves it open, see below; may be "
        f"repeated (default: ${variants.VARIABLE}, NAME=VALUE,...)",
    )


if __name__ == "__main__":
    sys.exit(main())
