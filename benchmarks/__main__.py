"""Measure speed beside a peer and a limit, and print one table (Markdown).

A row is a measurement, in a process of its own, in the environment of .venv/ that it needs. What is
ours, the peer (how one would do it otherwise) and the limit (the part that cannot be left out) take
turns, in five rounds or more. The table shows medians, in brackets the quartiles; a ratio is of
figures of one round. An aim is met or missed if the quartiles lie on one side of it, else unclear.
A row that fails says so, and the others go on; the exit code is then 1.

examples:
  python -m benchmarks --list
  python -m benchmarks serve-row input-128
  python -m benchmarks --write          all rows, and the table goes to benchmarks/README.md
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from benchmarks import measuring
from benchmarks.measuring import Row
from benchmarks.rows import ROWS

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "benchmarks/README.md"
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
TIMEOUT = 1200  # seconds; the longest row takes two minutes on an idle machine


def environment(row: Row) -> dict[str, str]:
    """The trainer's rows also find the peers, which it does without."""
    if row.environment != "trainer":
        return dict(os.environ)
    paths = [str(ROOT / ".venv/peers"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def measured(row: Row, count: int) -> tuple[str, bool]:
    """The line of a row, and whether it has figures."""
    python = ROOT / f".venv/{row.environment}/bin/python"
    if not python.exists():
        return measuring.failed(row, f".venv/{row.environment} is missing: run `make setup`"), False
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder, "figures.json"), Path(folder, "log")
        command = [python, "-m", "benchmarks.speed", row.program, str(count), file]
        with log.open("wb") as output:
            try:
                code = subprocess.run(
                    command,
                    cwd=ROOT,
                    env=environment(row),
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=TIMEOUT,
                ).returncode
            except subprocess.TimeoutExpired:
                return measuring.failed(row, f"not over after {TIMEOUT} s"), False
        if code:
            output = log.read_text(errors="replace").strip().splitlines() or ["no output"]
            print("\n".join(output[-20:]), file=sys.stderr)
            return measuring.failed(row, f"exit code {code}: {output[-1][:200]}"), False
        return measuring.line(row, json.loads(file.read_text())), True


def machine() -> str:
    """Processor, cores, load and date of this run."""
    names = [
        text.partition(":")[2].strip()
        for text in Path("/proc/cpuinfo").read_text().splitlines()
        if text.startswith("model name")
    ]
    load = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    return f"{date.today()}, {cores} cores ({(names or ['unknown'])[0]}), load {load:.1f} before."


def written(text: str, table: str) -> str:
    """The README with another table; ValueError if it has no place for it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README.name} lacks the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows to measure (default: all)")
    parser.add_argument(
        "--list", action="store_true", help="print the rows with their aims, and end"
    )
    parser.add_argument(
        "--rounds", type=int, default=measuring.ROUNDS, help="at least %(default)s (default)"
    )
    parser.add_argument(
        "--write", action="store_true", help="put the table of all rows into benchmarks/README.md"
    )
    found = parser.parse_args()
    if unknown := set(found.rows) - {row.name for row in ROWS}:
        parser.error(f"no row {', '.join(sorted(unknown))}: --list prints them")
    if found.rounds < measuring.ROUNDS:
        parser.error(f"--rounds {found.rounds}: at least {measuring.ROUNDS}")
    if found.write and found.rows:
        parser.error("--write needs all rows: the others would be lost from the table")
    return found


def main() -> int:
    options = arguments()
    if options.list:
        for row in ROWS:
            print(f"{row.name:17} {row.what} (.venv/{row.environment})")
        return 0
    chosen = [row for row in ROWS if row.name in options.rows or not options.rows]
    lines, good, where = [], True, machine()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before the last row"))
    try:
        for place, row in enumerate(chosen, 1):
            heading = f"[{place}/{len(chosen)}] {row.name}: {row.what}"
            print(heading, end="", file=sys.stderr, flush=True)
            start = time.perf_counter()
            text, fine = measured(row, options.rounds)
            print(f" ({time.perf_counter() - start:.0f} s)", file=sys.stderr, flush=True)
            lines.append(text)
            good = good and fine
    finally:  # what an hour has measured is shown also where the run is ended
        table = "\n".join([where, "", measuring.HEADER, *lines])
        print(table)
    if options.write:
        README.write_text(written(README.read_text(), table))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
