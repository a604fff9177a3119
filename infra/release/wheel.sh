#!/usr/bin/env bash
# Builds the two Python packages for Airflow and uploads them. A version that is there already is left
# alone if it is the same file; if not, uv refuses, and the version in its pyproject.toml must be raised.
set -euo pipefail
. infra/release/versions.sh

make --silent .venv/tools/.ready
# The build's own account, by its metadata server; never on a command line.
token=$(curl --silent --fail --header 'Metadata-Flavor: Google' \
    http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token \
    | python -c 'import json, sys; print(json.load(sys.stdin)["access_token"])')
host="$REGION-python.pkg.dev/$PROJECT/$NAME-wheels"
export UV_PUBLISH_URL="https://$host/"
export UV_PUBLISH_USERNAME=oauth2accesstoken UV_PUBLISH_PASSWORD="$token"
export UV_PUBLISH_CHECK_URL="https://oauth2accesstoken:$token@$host/simple/"

for folder in contracts plugins; do
    .venv/tools/bin/uv build --quiet --wheel --out-dir /tmp/wheel "$folder"
done
.venv/tools/bin/uv publish --trusted-publishing never \
    "/tmp/wheel/trellis_contracts-$CONTRACTS-py3-none-any.whl" \
    "/tmp/wheel/trellis_airflow-$WHEEL-py3-none-any.whl"
