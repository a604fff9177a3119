"""The command behind `make demo`."""

import sys

from demo import __main__ as command


def test_ctrl_c_says_what_goes_on(monkeypatch, capsys):
    def run(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(sys, "argv", ["demo", "run", "digits"])
    assert command.main() == command.INTERRUPTED
    assert "What was started goes on" in capsys.readouterr().out
