from tests.airflow_side import airflow_database, google

__all__ = ["airflow_database", "google"]
