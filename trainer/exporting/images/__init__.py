"""From a manifest of images to a dataset: manifest -> assignment -> shards -> commit.

    manifest     the lines that may become examples, and those that may not
    assignment   class, split and shard of every image, before one is read
    convert      an image file -> the encoded image that is stored
    shards       one TFRecord file
    commit       rejected.jsonl and dataset.json

Only `pipeline` knows Beam; the rest are functions of plain values.
"""
