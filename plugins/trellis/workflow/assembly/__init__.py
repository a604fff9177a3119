"""The DAGs: training, prediction, rollback and undeployment, with their pages and forms."""
