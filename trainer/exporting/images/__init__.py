"""Export of images: manifest -> assignment -> shards -> commit.

    manifest     parses and checks the manifest
    assignment   gives every image a label, a split and a shard, before reading any
    probe        refuses a manifest of images that need a scale
    convert      decodes, resizes and encodes one image
    shards       writes one TFRecord file
    commit       writes rejected.jsonl and dataset.json

`steps` has them all, which `local` runs on this machine, and `pipeline` with Beam; only
`pipeline` depends on Beam.
"""
