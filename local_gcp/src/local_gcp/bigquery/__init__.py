"""BigQuery on one machine: the REST and Storage Read APIs over DuckDB."""
