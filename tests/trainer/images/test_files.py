"""docs/how-to/image-files.md says what becomes of each kind of file: every row of it is tried."""

from pathlib import Path

import numpy as np
import pytest

from tests.trainer.images.files import FILES, HEIGHT, WIDTH
from trainer import images
from trainer.images import TEXTS, ImageError, Scale

PAGE = (Path(__file__).resolve().parents[3] / "docs/how-to/image-files.md").read_text()
LINES = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in PAGE.splitlines()]
ROWS = {
    cells[0]: cells[1:] for cells in LINES if len(cells) == 5 and cells[1] in ("read", "refused")
}
LOSSES = {cells[0].strip("`"): cells[1] for cells in LINES if len(cells) == 2 and "`" in cells[0]}
SCALES = (None, "full", "percentiles:0,100")
NONE = "\N{EN DASH}"
WIDE = "range:-2000,70000"


def view(name, scale):
    """Return the pixels that a model sees of a file, grey if the picture in it is; None if it is
    refused.
    """
    file = FILES[name]
    channels = 1 if file.seen is not None and file.seen.ndim == 2 else 3
    try:
        seen = images.view(file.data, (HEIGHT, WIDTH, channels), scale=scale and Scale.parse(scale))
    except ImageError:
        return None
    assert seen.pixels.dtype == (np.uint8 if scale is None else np.uint16)
    return seen


def test_the_page_has_every_kind_of_file_and_of_loss():
    assert list(ROWS) == list(FILES)
    assert list(LOSSES) == list(TEXTS)
    assert [text.removeprefix("files with ") for text in LOSSES.values()] == list(TEXTS.values())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_file_becomes_what_the_page_says(name):
    seen = [view(name, scale) for scale in SCALES]
    lost = {loss for one in seen if one for loss in one.lost}
    assert [
        *("refused" if one is None else "read" for one in seen),
        ", ".join(loss for loss in TEXTS if loss in lost) or NONE,
    ] == ROWS[name]


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if file.seen is not None])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_read_is_the_picture(name):
    file = FILES[name]
    assert file.seen is not None
    ways = {None: (1, 0), "full": (257, 0), WIDE: (65535 / 72000, 2000 * 65535 / 72000)}
    if file.seen.max() > 255:
        ways["full"] = (1, 0)
    if (file.seen < 0).any() or "transparent" in name:
        del ways["full" if (file.seen < 0).any() else WIDE]
    tried = 0
    for scale, (factor, offset) in ways.items():
        found = view(name, scale)
        if found is not None:
            expected = file.seen.astype(np.float64) * factor + offset
            error = np.abs(found.pixels.reshape(expected.shape) - expected).mean()
            assert error <= (file.tolerance + 0.5 * (scale == WIDE)) * factor + 0.01
            tried += 1
    assert tried
