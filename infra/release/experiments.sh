#!/usr/bin/env bash
# Refuses experiment files that have a problem with the platform that they are released for: their DAGs
# would be gone, or would refuse every run.
set -euo pipefail

TRELLIS_PLATFORM="$PLATFORM" .venv/airflow/bin/trellis check "dags/$PLATFORM" dags/experiments/*.yaml \
    || { echo "Nothing was released: correct these files, or the platform." >&2; exit 1; }
