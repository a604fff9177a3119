"""GoogleSQL on DuckDB: statements are resolved, typed and written anew for DuckDB.

catalog.py      what exists: tables and models, asked of the warehouse
settings.py     project, default dataset, query parameters, time
translated.py   what comes out
"""
