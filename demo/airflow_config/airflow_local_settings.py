"""Airflow reads this module when any of its processes starts.

The scheduler of a LocalExecutor forks a process for every task. The provider's modules take seconds
of CPU to import; imported here, once, before the scheduler forks, no task pays for them again.
"""

import sys

if "scheduler" in sys.argv[1:2]:
    import airflow.providers.google.cloud.operators.dataflow
    import airflow.providers.google.cloud.operators.vertex_ai.custom_job
    import airflow.providers.google.cloud.operators.vertex_ai.hyperparameter_tuning_job  # noqa: F401
