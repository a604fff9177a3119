"""From the rows of a table to a dataset: columns.json and Parquet files -> TFRecords.

    read      Parquet row groups -> checked rows, sorted by the fingerprint of their keys,
              as temporary files in the dataset's folder (`partial/`)
    summarise each range of fingerprints, over all those files: duplicate keys, statistics
    survey    all rows together: splits, classes, shards
    features  what the summaries amount to: vocabularies and statistics
    write     each TFRecord file, one range of fingerprints after the other
    commit    dataset.json

Only `pipeline` knows Beam. No step holds more rows than one range of fingerprints (layout.py says
how many those are), and every result is a function of the set of rows, not of their order or of
the files in which they came.
"""
