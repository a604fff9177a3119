#!/usr/bin/env bash
# Refuses, before minutes are spent on tests, what could not be released.
set -euo pipefail
. infra/release/versions.sh

stop() { echo "Nothing was released: $1" >&2; exit 1; }

[ -n "$WHEEL" ] || stop "plugins/pyproject.toml names no version"
[ -n "$IMAGE" ] || stop "contracts/trellis_contracts/job_image.py names no TAG"
for package in "trellis-airflow==$WHEEL" "trellis-contracts==$CONTRACTS"; do
    grep -q "^$package\$" dags/requirements-composer.txt \
        || stop "dags/requirements-composer.txt does not install $package"
done
[ -n "$DAGS_BUCKET" ] \
    || stop "_DAGS_BUCKET is empty; terraform -chdir=infra output -raw release prints the command"
# In its own project, Airflow's account can delete and replace images.
[ -n "$IMAGES_PROJECT" ] && [ "$IMAGES_PROJECT" != "$PROJECT" ] \
    || stop "_IMAGES_PROJECT names no second project; terraform -chdir=infra output -raw release prints the command"
[ -f "dags/$PLATFORM" ] \
    || stop "there is no dags/$PLATFORM; terraform -chdir=infra output -raw platform_yaml prints it"
grep -q "^project: $PROJECT\$" "dags/$PLATFORM" \
    || stop "dags/$PLATFORM is not of project $PROJECT; terraform -chdir=infra output -raw platform_yaml prints it"
grep -q "^registry: $IMAGES\$" "dags/$PLATFORM" \
    || stop "dags/$PLATFORM does not take its images from $IMAGES"

bare=$(bash infra/release/pin.sh --list | paste -sd ' ')
[ -z "$bare" ] || echo "Warning: whoever moves these tags changes what is released: $bare. This release builds with the \
digests that their registries name now, and records them; infra/release/pin.sh writes them here, to be committed." >&2
echo "Releases trellis-airflow $WHEEL and images $IMAGE into $NAME, project $PROJECT, $REGION"
