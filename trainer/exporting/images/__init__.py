"""Export of images: manifest -> assignment -> shards -> commit.

    manifest     parses and checks the manifest
    assignment   gives every image a label, a split and a shard, before reading any
    convert      decodes, resizes and encodes one image
    shards       writes one TFRecord file
    commit       writes rejected.jsonl and dataset.json

Only `pipeline` knows Beam; the rest are functions of plain values.
"""
