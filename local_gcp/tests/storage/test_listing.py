"""Objects.list: the lazy walk over folders against a model that sorts and filters all names."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_gcp.rest import ApiError
from local_gcp.storage.listing import Page, Query, glob_pattern, list_page, walk

# Characters around the slash in UTF-8 order: "-" and "." sort before "/", "0" and "a" after it.
segments = st.text(alphabet="-.0aü", min_size=1, max_size=2).filter(lambda s: s not in (".", ".."))
names = st.lists(segments, min_size=1, max_size=3).map("/".join)
prefixes = st.text(alphabet="-.0aü/", max_size=3).filter(lambda s: "//" not in s)


@st.composite
def trees(draw) -> list[str]:
    """Names that can all be files: none is a folder of another."""
    chosen: set[str] = set()
    for name in draw(st.lists(names, max_size=12)):
        parents = {name[:i] for i, c in enumerate(name) if c == "/"}
        if not parents & chosen and not any(other.startswith(name + "/") for other in chosen):
            chosen.add(name)
    return sorted(chosen)


def expected(tree: list[str], prefix: str, delimiter: str | None) -> tuple[list[str], list[str]]:
    items, groups = [], []
    for name in tree:
        rest = name.removeprefix(prefix)
        if not name.startswith(prefix):
            continue
        if delimiter and delimiter in rest:
            group = prefix + rest[: rest.index(delimiter) + len(delimiter)]
            if group not in groups:
                groups.append(group)
        else:
            items.append(name)
    return items, groups


def all_pages(folder: Path, **query) -> Page:
    whole, token = Page(), None
    while True:
        page = list_page(folder, Query(page_token=token, **query))
        assert len(page.names) + len(page.prefixes) <= query["max_results"]
        whole.names += page.names
        whole.prefixes += page.prefixes
        token = page.next_page_token
        if token is None:
            return whole


@given(
    tree=trees(),
    prefix=prefixes,
    delimiter=st.sampled_from([None, "/", "a", "-."]),
    max_results=st.integers(1, 5),
)
def test_pages_hold_each_name_and_prefix_once_and_in_order(tree, prefix, delimiter, max_results):
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), tree)
        page = all_pages(Path(folder), prefix=prefix, delimiter=delimiter, max_results=max_results)
    assert (page.names, page.prefixes) == expected(tree, prefix, delimiter)


@given(tree=trees(), prefix=prefixes, start=names, end=names)
def test_offsets_select_a_half_open_interval_of_a_prefix(tree, prefix, start, end):
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), tree)
        page = list_page(Path(folder), Query(prefix=prefix, start=start, end=end))
    assert page.names == [n for n in tree if start <= n < end and n.startswith(prefix)]


def write(folder: Path, tree: list[str]) -> None:
    for name in tree:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_placeholders_are_listed_and_other_empty_folders_are_not(tmp_path):
    (tmp_path / "shown").mkdir()
    (tmp_path / "hidden").mkdir()
    write(tmp_path, ["shown/a"])

    page = list_page(tmp_path, Query(), placeholders={"shown/"})
    assert page.names == ["shown/", "shown/a"]
    page = list_page(tmp_path, Query(delimiter="/"), placeholders={"shown/"})
    assert (page.names, page.prefixes) == ([], ["shown/"])
    page = list_page(
        tmp_path, Query(delimiter="/", trailing_delimiter=True), placeholders={"shown/"}
    )
    assert (page.names, page.prefixes) == (["shown/"], ["shown/"])


def test_a_prefix_cannot_leave_the_bucket(tmp_path):
    (tmp_path / "bucket").mkdir()
    (tmp_path / "secret").touch()
    assert list_page(tmp_path / "bucket", Query(prefix="../")).names == []


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("*.csv", "a.csv", "a/b.csv"),
        ("**.csv", "a/b.csv", "a/b.csv2"),
        ("**/x", "x", "ax"),
        ("a/**/x", "a/b/c/x", "b/x"),
        ("part-?", "part-1", "part-/"),
        ("[a-c]1", "b1", "d1"),
        ("[!a-c]1", "d1", "b1"),
        ("{train,val*}.tfrecord", "validation.tfrecord", "test.tfrecord"),
        (r"\*", "*", "x"),
        ("a.b", "a.b", "axb"),
    ],
)
def test_globs(glob, matching, other):
    pattern = glob_pattern(glob)
    assert pattern.fullmatch(matching)
    assert not pattern.fullmatch(other)


def test_a_glob_filters_prefixes_too(tmp_path):
    write(tmp_path, ["a/1.csv", "b/1.csv", "a.csv"])
    page = list_page(tmp_path, Query(delimiter="/", glob="a*"))
    assert (page.names, page.prefixes) == (["a.csv"], [])
    page = list_page(tmp_path, Query(delimiter="/", glob="a*/"))
    assert (page.names, page.prefixes) == ([], ["a/"])


def test_a_broken_page_token_is_refused(tmp_path):
    with pytest.raises(ApiError, match="Invalid pageToken"):
        list_page(tmp_path, Query(page_token="?"))


@pytest.mark.parametrize(
    "prefix", ["/", "/etc/", "//", "/./", "./", "../", "a/../../", "a//b", "\0"]
)
def test_a_prefix_that_no_object_can_have_lists_nothing(tmp_path, prefix):
    (tmp_path / "beside").write_bytes(b"")
    bucket = tmp_path / "bucket"
    (bucket / "a").mkdir(parents=True)
    (bucket / "a" / "b").write_bytes(b"")
    assert list(walk(bucket, prefix)) == []
