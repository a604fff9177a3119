"""Facts about data before there is an experiment."""

from trellis.new.described import SAMPLED, sampled


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
