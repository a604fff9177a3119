"""The demo's services."""

from pathlib import Path

import pytest

from demo import services


@pytest.mark.parametrize("folder", ["ROOT", "LOCAL"])
def test_a_folder_that_supervisord_cannot_take_is_refused(monkeypatch, folder):
    monkeypatch.setattr(services, folder, Path("/home/ann/100%/trellis"))
    with pytest.raises(services.ServiceError, match=r"/home/ann/100%/trellis: .* rename"):
        services.prepare(print)
