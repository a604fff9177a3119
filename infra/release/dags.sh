#!/usr/bin/env bash
# Makes the environment's dags/trellis/ like dags/. Other files in the bucket do not change.
set -euo pipefail

bash infra/release/removed.sh

gcloud storage rsync --recursive --delete-unmatched-destination-objects \
    --exclude='(^|.*/)__pycache__/.*' dags "gs://$DAGS_BUCKET/dags/trellis"
