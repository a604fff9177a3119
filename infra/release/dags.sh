#!/usr/bin/env bash
# Makes the environment's dags/trellis/ like dags/. Whatever else lies in the bucket is left alone.
set -euo pipefail

gcloud storage rsync --recursive --delete-unmatched-destination-objects \
    --exclude='(^|.*/)__pycache__/.*' dags "gs://$DAGS_BUCKET/dags/trellis"
