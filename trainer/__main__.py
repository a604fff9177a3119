"""The job image's entry point: `python -m trainer COMMAND ...`."""

import runpy
import sys

COMMANDS = {
    "export": ("trainer.export", "a manifest of images -> a TFRecord dataset (Beam)"),
    "train": ("trainer.task", "one tuning trial or one full training"),
    "compare": ("trainer.compare", "predictions of all contenders -> leaderboard and report"),
    "serve": ("trainer.serve", "predictions of one model over HTTP (Vertex AI endpoints)"),
}


def main() -> None:
    """Run a command with the arguments behind it; each has a `--help` of its own."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("-h", "--help"):
        print("usage: python -m trainer COMMAND [--help]\n")
        for command, (_, help_text) in COMMANDS.items():
            print(f"  {command:9} {help_text}")
        return
    if name not in COMMANDS:
        sys.exit(f"trainer: unknown command {name!r}; there are: {', '.join(COMMANDS)}")
    module = COMMANDS[name][0]
    sys.argv = [f"python -m {module}", *sys.argv[2:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
