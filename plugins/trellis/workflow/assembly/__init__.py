"""The DAGs: training, prediction, rollback, reserve, undeployment, with their pages and forms."""
