"""The job image's entry point: `python -m trainer COMMAND ...`."""

import runpy
import sys

from trellis_contracts.job_image import COMMANDS


def main() -> None:
    """Run a command with the arguments after it; each has its own `--help`."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        print("usage: python -m trainer COMMAND [--help]\n")
        for known, command in COMMANDS.items():
            print(f"  {known:9} {command.about}")
        return
    if name not in COMMANDS:
        sys.exit(f"trainer: unknown command {name!r}; expected one of {', '.join(COMMANDS)}")
    module = COMMANDS[name].module
    sys.argv = [f"python -m {module}", *sys.argv[2:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
