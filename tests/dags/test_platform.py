import pytest

from research import platform
from research.problems import FileError


def test_addresses(group):
    assert group.uri("digits/manifest.csv") == "gs://trellis-local/digits/manifest.csv"
    assert group.uri("gs://other/m.csv") == "gs://other/m.csv"
    assert group.image("trainer", "1.2.3").endswith("/trellis/trainer:1.2.3")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("project:", "projekt:", r"line 5, projekt: unknown key; did you mean 'project'\?"),
        ("bucket: trellis-local", "bucket: gs://x", r"line 7, bucket: got 'gs://x'"),
        ("poll_seconds: 1", "poll_seconds: 0", "poll_seconds: got 0; expected a whole number"),
        ("max_workers: 2, ", "max_worker: 2, ", "did you mean 'max_workers'"),
        ("timeout: 30 minutes", "timeout: long", "as in '30 minutes'"),
    ],
)
def test_a_mistake_is_named_with_line_and_field(tmp_path, old, new, message):
    path = tmp_path / "platform.yaml"
    text = platform.PATH.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FileError, match=message):
        platform.read(path)
