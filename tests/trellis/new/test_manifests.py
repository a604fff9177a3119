"""Manifests of images that people have: what no run could use is refused or said, with its line."""

import pytest
from google.cloud import storage

from trellis.new import images
from trellis.new.described import DataError, Images, lines

IMAGE = "gs://new-manifests/images/{}.png"


@pytest.fixture
def describe(google):
    """Describes a manifest of these lines, of a label each, or of this content."""

    def describe(content):
        folder = google.buckets / "new-manifests"
        folder.mkdir(exist_ok=True)
        if not isinstance(content, bytes):
            content = "".join(f"{line}\n" for line in content).encode()
        (folder / "m.csv").write_bytes(content)
        address = "gs://new-manifests/m.csv"
        return images.describe(storage.Client(project="local-gcp"), address)

    return describe


def written(line, count=30):
    """Lines with the address and the label of an image each, as `line` has them."""
    return [line.format(image=IMAGE.format(n), label="ab"[n % 2]) for n in range(count)]


@pytest.fixture(autouse=True)
def seen(monkeypatch):
    """Every image is there: this is about the text."""
    monkeypatch.setattr(images, "of_column", lambda client, where, addresses: Images(where))


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("{image};{label}", "semicolons"),
        ("{image}\t{label}", "tabs"),
        ("TRAIN|{image}|{label}", "vertical bars"),
    ],
)
def test_another_separator_is_named(describe, line, name):
    with pytest.raises(DataError, match=f"separated by {name}"):
        describe(written(line))


@pytest.mark.parametrize("line", ['"{image},{label}', '{image},"{label}', 'train,"{image},{label}'])
def test_quotes_that_are_never_closed_lose_no_line_in_silence(describe, line):
    (broken,) = written(line, 1)
    good = written("train,{image},{label}" if line.startswith("train") else "{image},{label}")
    with pytest.raises(DataError, match="line 8 opens quotes that are not closed"):
        describe([*good[:7], broken, *good[7:]])
    with pytest.raises(DataError, match="line 8 opens quotes"):
        describe([*good[:7], broken, *good[7:], 'x"'])


@pytest.mark.parametrize(
    ("encoding", "line"), [("latin-1", 21), ("utf-16", 1), ("utf-16-le", 21), ("cp1252", 21)]
)
def test_another_encoding_is_said_with_its_line(describe, encoding, line):
    text = "\n".join([*written("{image},{label}", 20), f"{IMAGE.format(20)},größe"])
    with pytest.raises(DataError, match=f"in line {line}"):
        describe(text.encode(encoding))


def test_lines_that_no_run_takes_are_counted_by_their_reason(describe):
    more = [f"{IMAGE.format(3)},b", f"{IMAGE.format(4)},b", f"{IMAGE.format(99)},"]
    found = describe([*written("{image},{label}"), *more])
    assert found.count == 29
    assert list(lines(found.notes)) == [
        "left out: 1 lines: repeats an image, as line 31; "
        "2 lines: contradicts another line of its image, as line 5; 1 lines: no label, as line 33"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (written("{image},well"), "all 30 images are of one class"),
        (written("{image},{label},0.1,0.1,,,0.3,0.3,,"), "30 lines: several labels, as line 1"),
        (written("{image}"), "30 lines: no label, as line 1"),
    ],
)
def test_a_manifest_that_nothing_can_be_learned_from_is_refused(describe, text, said):
    with pytest.raises(DataError, match=f"has nothing to learn: {said}"):
        describe(text)
