from tests.airflow_side import airflow_database

__all__ = ["airflow_database"]
