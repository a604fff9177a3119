"""Facts about data before there is an experiment."""

from trellis.new.described import SAMPLED, Note, lines, sampled


def test_of_files_that_alternate_every_kind_is_looked_at():
    kinds = ("front", "side", "16-bit")
    files = [f"{case:03d} {kind}" for case in range(SAMPLED) for kind in kinds]
    found = sampled(files)
    assert found == [file for file in files if file in found]
    assert len(set(found)) == SAMPLED
    assert {file.partition(" ")[2] for file in found} == {*kinds}
    assert sampled(files) == found


def test_of_few_all_are_looked_at():
    assert sampled(["a", "b"]) == ["a", "b"]
    assert sampled([]) == []


def test_of_a_note_on_thousands_of_columns_some_are_shown():
    (line,) = lines([Note("renamed", f"'gene.{n}' is gene_{n}") for n in range(5000)])
    assert line.startswith("renamed: 'gene.0' is gene_0; ")
    assert line.endswith("and 4,960 more")
