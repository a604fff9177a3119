from tests.airflow_side import airflow_database, google, google_session

__all__ = ["airflow_database", "google", "google_session"]
