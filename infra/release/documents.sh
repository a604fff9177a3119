#!/usr/bin/env bash
# Uploads, for each image that this release built, what is in it (sbom.spdx.json, SPDX), what it was built of
# (provenance.json: an in-toto statement with a predicate of SLSA 1) and the digest of each source (sources.sha256, as
# `sha256sum --check` reads it). A version of them cannot be written over. They are not signed: whoever trusts them
# trusts all who may delete and write in the repository. Without images_project that is Airflow's account, too, by
# roles/composer.worker.
set -euo pipefail
. infra/release/versions.sh

uploaded() { # name, tag
    gcloud artifacts versions describe "$2" --package="$1" --repository="$NAME-documents" \
        --location="$REGION" --project="$IMAGES_PROJECT" >/dev/null 2>&1
}

while read -r image; do
    name=${image##*/} && tag=${name#*:} && name=${name%%:*}
    folder=.release/$name/$tag
    if [ -d "$folder" ]; then
        bash infra/release/pin.sh --all | python3 infra/release/provenance.py "$folder"
        rm "$folder/image" "$folder/options"
        gcloud artifacts generic upload --source-directory="$folder" --package="$name" --version="$tag" \
            --repository="$NAME-documents" --location="$REGION" --project="$IMAGES_PROJECT"
    elif ! uploaded "$name" "$tag"; then
        echo "Warning: nobody recorded what $image was built of, as its release was cut short. Raise TAG in \
contracts/trellis_contracts/job_image.py to build it again." >&2
    fi
done <.release/images
