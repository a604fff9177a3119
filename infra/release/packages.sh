#!/usr/bin/env bash
# Installs dags/requirements-composer.txt, and nothing else, into Composer. That takes it 10 to 30
# minutes, and restarts Airflow's processes; running jobs are found again.
set -euo pipefail

list=dags/requirements-composer.txt
wanted=$(grep -v '^#' "$list" | sort)

installed=$(gcloud composer environments describe "$NAME" --project "$PROJECT" --location "$REGION" \
    --format='json(config.softwareConfig.pypiPackages)' | python3 -c '
import json, sys

packages = json.load(sys.stdin)["config"]["softwareConfig"].get("pypiPackages", {})
for name, version in sorted(packages.items()):
    print(name + version)
')
if [ "$installed" = "$wanted" ]; then
    printf 'Composer has these packages already:\n%s\n' "$wanted"
    exit
fi

gcloud composer environments update "$NAME" --project "$PROJECT" --location "$REGION" \
    --update-pypi-packages-from-file="$list"
