"""The two readers of a manifest, that of `plan` and that of the export, agree on every line."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from trainer.exporting import ExportError
from trainer.exporting.images import manifest
from trellis.workflow.contracts.errors import SourceError
from trellis.workflow.lookups import image_manifest
from trellis_contracts.dataset import CLASSIFICATION
from trellis_contracts.tasks import MULTILABEL

AT = "gs://bucket/manifest.csv"

labels = st.sampled_from(["cat", "dog", "a, b", 'say "cat"', "two\nlines", " cat ", "", "猫"])
names = st.sampled_from(
    ["1.png", "ü ñ 猫.PNG", "com,ma.png", 'q"uote.png', "a b/c d.png", "x\ny.png"]
)
images = st.builds("gs://bucket/{}".format, names) | st.sampled_from(
    ["gs://bucket/folder/", "gs://B/x.png", "gs://bucket", "s3://bucket/x.png", "x.png", ""]
)
buckets = st.sampled_from(["bucket", "bucket", "site"])
uses = st.sampled_from(["training", "TEST", "Validation"])
spaces = st.sampled_from(["", " ", "  ", "\t"])


@st.composite
def lines(draw):
    """A line as people write it: fields in quotes or not, spaces around them, commas at its end."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", "   ", ",", ",,", '""', '{"image": "gs://bucket/1.png"}']))
    image = draw(images) if draw(st.integers(0, 9)) == 0 else f"gs://{draw(buckets)}/{draw(names)}"
    fields = [image, draw(labels)]
    if draw(st.booleans()):
        fields.insert(0, draw(uses))
    fields += draw(st.lists(labels, max_size=2))
    written = []
    for field in fields:
        text = io.StringIO()
        quoting = csv.QUOTE_ALL if draw(st.booleans()) else csv.QUOTE_MINIMAL
        csv.writer(text, quoting=quoting, lineterminator="").writerow([field])
        # Spaces behind a closing quote would belong to the field.
        after = "" if '"' in text.getvalue() else draw(spaces)
        written.append(f"{draw(spaces)}{text.getvalue()}{after}")
    return ",".join(written) + draw(st.sampled_from(["", ",", ", "]))


@st.composite
def files(draw):
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = end.join(draw(st.lists(lines(), min_size=1, max_size=8)))
    text += draw(st.sampled_from(["", end, end + end]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-8", "utf-16"]))
    return text.encode(encoding)


def by_plan(content):
    """(line, image, what is before and after it) of each line; None: the file is refused."""
    try:
        read = list(image_manifest.lines_of(AT, content))
    except SourceError:
        return None
    if not read or any(line.place is None for line in read):
        return None
    return [
        (
            line.number,
            line.fields[line.place],
            line.fields[: line.place],
            line.fields[line.place + 1 :],
        )
        for line in read
    ]


def by_export(content):
    try:
        read = manifest._split_fields(content)
        manifest._refuse_lines_without_image(read, manifest._resolver(AT))
    except ExportError:
        return None
    return [
        (
            line.number,
            line.uri,
            [line.ml_use] if line.fields[0] != line.uri else [],
            list(line.after),
        )
        for line in read
    ]


@given(files())
def test_both_find_the_same_image_and_fields_on_each_line(content):
    assert by_plan(content) == by_export(content)


@given(files(), st.sampled_from([CLASSIFICATION, MULTILABEL]))
def test_a_row_of_the_export_has_the_key_that_plan_finds(content, task):
    try:
        rows = manifest.parse(content, AT, task=task).rows
    except ExportError:
        return
    lines = image_manifest.lines_of(AT, content)
    addresses = {line.number: line.fields[line.place] for line in lines}
    keys = image_manifest.keys(addresses.values())
    assert {row.line: row.key for row in rows} == {
        row.line: keys[addresses[row.line]] for row in rows
    }
