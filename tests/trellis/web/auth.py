"""An auth manager with rights by DAG, as Composer's and others' have them."""

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager


class PerDagAuthManager(SimpleAuthManager):
    """ada may see everything, grace only the DAG digits; joan sees DAGs, but no runs."""

    def is_authorized_dag(self, *, method, user, access_entity=None, details=None):
        if user.username == "grace":
            return details is not None and details.id == "digits"
        if user.username == "joan":
            return access_entity != DagAccessEntity.RUN
        return user.username == "ada"
