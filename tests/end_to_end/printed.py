"""Reads the demo's output like a reader: nothing but copied lines."""

import subprocess


def command(output: str) -> str:
    """The `curl` command that predicts, with the line that leads the shell to the run."""
    return _curls(output)[0]


def explanation(output: str) -> str:
    """The `curl` command that asks for an explanation, with the same line."""
    return _curls(output)[1]


def _curls(output: str) -> list[str]:
    lines = output.splitlines()
    predict, explain = [line for line in lines if line.startswith("curl ")]
    lead = lines[lines.index(predict) - 1]
    return [f"{lead}\n{line}" for line in (predict, explain)]


def snippet(output: str) -> str:
    """The Python snippet, with the same line."""
    lines = output.splitlines()
    (begin,) = [n for n, line in enumerate(lines) if line.startswith("python - <<")]
    end = lines.index("END", begin)
    lead = next(line for line in reversed(lines[:begin]) if line.startswith(". "))
    return "\n".join([lead, *lines[begin : end + 1]])


def pasted(text: str, folder) -> str:
    """Paste it into a shell in `folder`, and return the output."""
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", text], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout
