"""Beam's gs:// file system, as the export uses it. Argument: a bucket."""

import sys

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

base = f"gs://{sys.argv[1]}"

with FileSystems.create(f"{base}/in/a.txt") as file:
    file.write(b"one\ntwo\n" * 1000)
with beam.Pipeline(options=PipelineOptions(runner="BundleBasedDirectRunner")) as pipeline:
    lines = pipeline | beam.io.ReadFromText(f"{base}/in/*.txt")
    lines | beam.combiners.Count.PerElement() | beam.io.WriteToText(f"{base}/out/count")
(result,) = FileSystems.match([f"{base}/out/count*"])
counted = b"".join(FileSystems.open(m.path).read() for m in result.metadata_list)
assert sorted(counted.splitlines()) == [b"('one', 1000)", b"('two', 1000)"]
assert result.metadata_list[0].size_in_bytes > 0
FileSystems.rename([f"{base}/in/a.txt"], [f"{base}/moved.txt"])
assert FileSystems.exists(f"{base}/moved.txt")
FileSystems.delete([f"{base}/moved.txt", f"{base}/out/"])
assert not FileSystems.exists(f"{base}/moved.txt")
