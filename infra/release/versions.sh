# shellcheck shell=bash disable=SC2034
# Sourced by the other scripts: what is released, and where to. Run from the repository's root.

# Of the Python packages for Airflow.
WHEEL=$(sed -n 's/^version = "\(.*\)"$/\1/p' plugins/pyproject.toml)
CONTRACTS=$(sed -n 's/^version = "\(.*\)"$/\1/p' contracts/pyproject.toml)
# Of the job images, as the DAGs name them.
IMAGE=$(sed -n 's/^TAG = "\(.*\)"$/\1/p' contracts/trellis_contracts/job_image.py)
IMAGES="$REGION-docker.pkg.dev/$IMAGES_PROJECT/$NAME"
