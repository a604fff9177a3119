"""A ratchet on mypy's errors: their number, in type_errors.txt, may fall and not rise.

    .venv/local_gcp/bin/python local_gcp/check_types.py

Exit code 1 if there are more errors than before (all are shown), or fewer: then lower the number.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = HERE / "type_errors.txt"


def main() -> int:
    """Run mypy on the package; returns the exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "src/local_gcp"],
        cwd=HERE,
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        print(done.stdout + done.stderr)
        return done.returncode
    errors, limit = len(re.findall(r": error: ", done.stdout)), int(LIMIT.read_text())
    if errors > limit:
        print(f"{done.stdout}\n{errors} type errors in local_gcp; there were {limit}.")
    elif errors < limit:
        print(f"Only {errors} type errors are left in local_gcp: write {errors} to {LIMIT}.")
    return int(errors != limit)


if __name__ == "__main__":
    sys.exit(main())
