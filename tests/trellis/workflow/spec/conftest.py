import pytest


@pytest.fixture
def write(tmp_path):
    """Writes an experiment file."""

    def write(text, name="good.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
