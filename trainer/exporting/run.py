"""Chooses where an export runs: in processes of this machine, or in a runner of Beam."""

import argparse
import os
from collections.abc import Sequence
from typing import Protocol

from trainer.exporting import ExportError
from trainer.exporting.objects import Objects
from trainer.exporting.settings import ExportSettings
from trainer.exporting.tables import local as tables

# Beam's own name for this machine. Its runner would try to download another program, Prism, and
# works in one process.
_THIS_MACHINE = (None, "DirectRunner")

# Flags that Dataflow's launcher adds. They say nothing here.
_OF_A_LAUNCH = {
    *("runner", "project", "region", "job_name", "temp_location", "staging_location"),
    "direct_running_mode",
}


class Place(Protocol):
    """A place where an export runs."""

    def objects(self) -> Objects:
        """Reads and writes objects as the export will."""

    def run(self, settings: ExportSettings, sha256: str) -> bool:
        """Run the export of a source with this SHA-256, which was checked.

        True: the dataset is committed. False: Dataflow has accepted the job. Raises ExportError.
        """


def place(beam_flags: Sequence[str]) -> Place:
    """Return the place that these flags, those that are not the export's own, ask for.

    Raises ExportError if one is unknown.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--runner")
    if parser.parse_known_args(beam_flags)[0].runner in _THIS_MACHINE:
        return _ThisMachine(beam_flags)
    # Beam takes seconds to import.
    from trainer.exporting.beam import Beam

    return Beam(beam_flags)


class _ThisMachine:
    def __init__(self, beam_flags: Sequence[str]):
        names = [flag.partition("=")[0].lstrip("-") for flag in beam_flags if flag[:2] == "--"]
        if unknown := sorted(set(names) - _OF_A_LAUNCH):
            raise ExportError(
                f"unknown to this program: --{', --'.join(unknown)} (Beam's flags need --runner)"
            )

    def objects(self) -> Objects:
        return Objects()

    def run(self, settings: ExportSettings, sha256: str) -> bool:
        tables.run(settings, sha256, processes=len(os.sched_getaffinity(0)))
        return True
