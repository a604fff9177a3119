"""Cloud Storage: the JSON API over plain files."""
