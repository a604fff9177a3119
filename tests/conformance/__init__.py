"""local_gcp against what others recorded of the real Google Cloud."""
