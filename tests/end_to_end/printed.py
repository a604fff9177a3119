"""What the demo printed, taken back out of it as a reader would: nothing but copied lines."""

import subprocess


def command(output: str) -> str:
    """The `curl` command, with the line that leads the shell to the run."""
    lines = output.splitlines()
    (curl,) = [n for n, line in enumerate(lines) if line.startswith("curl ")]
    return "\n".join(lines[curl - 1 : curl + 1])


def snippet(output: str) -> str:
    """The Python snippet, with the same line."""
    lines = output.splitlines()
    (begin,) = [n for n, line in enumerate(lines) if line.startswith("python - <<")]
    end = lines.index("END", begin)
    lead = next(line for line in reversed(lines[:begin]) if line.startswith(". "))
    return "\n".join([lead, *lines[begin : end + 1]])


def pasted(text: str, folder) -> str:
    """What a shell in `folder` answers to it."""
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", text], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout
