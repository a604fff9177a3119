"""Export of a table: columns.json and Parquet files -> TFRecords and dataset.json.

    parquet   reads and checks rows, sorts them by the fingerprint of their keys, and writes them to
              temporary files in the dataset's folder (`partial/`)
    survey    all rows together: splits, classes, shards
    ranges    each range of fingerprints, over all those files: duplicate keys, statistics
    features  vocabularies and statistics from the summaries of all ranges
    write     each TFRecord file, range by range; then dataset.json

`steps` has them all, which `local` runs on this machine, and `pipeline` with Beam; only
`pipeline` depends on Beam. No step holds more rows than one range of fingerprints (see
layout.py), and every result depends on the set of rows only, not on their order or their files.
"""
