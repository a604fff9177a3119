#!/usr/bin/env bash
# Uploads, for each image that this release built, what is in it (sbom.spdx.json, SPDX), what it was built of
# (provenance.json: an in-toto statement with a predicate of SLSA 1) and the digest of each source (sources.sha256, as
# `sha256sum --check` reads it). A version of them cannot be written over. The release's key in Cloud KMS, which the
# build's account alone may sign with, signs the statement (provenance.dsse.json), and by the digests in it all others.
# Cloud Build's own signed provenance is of images that a build names before it begins: ours are built once for each
# version, so most builds have none.
set -euo pipefail
. infra/release/versions.sh

uploaded() { # name, tag
    gcloud artifacts versions describe "$2" --package="$1" --repository="$NAME-documents" \
        --location="$REGION" --project="$IMAGES_PROJECT" >/dev/null 2>&1
}

sign() { # folder
    local key="$NAME-release" work
    work=$(mktemp -d)
    python3 infra/release/dsse.py message "$1/provenance.json" >"$work/message"
    gcloud kms asymmetric-sign --key="$key" --keyring="$key" --version=1 --location="$REGION" --project="$PROJECT" \
        --digest-algorithm=sha256 --input-file="$work/message" --signature-file="$work/signature"
    python3 infra/release/dsse.py envelope "$1/provenance.json" "$work/signature" \
        "projects/$PROJECT/locations/$REGION/keyRings/$key/cryptoKeys/$key/cryptoKeyVersions/1" \
        >"$1/provenance.dsse.json"
    rm -r "$work"
}

named=$(bash infra/release/pin.sh --all)
while read -r image; do
    name=${image##*/} && tag=${name#*:} && name=${name%%:*}
    folder=.release/$name/$tag
    if [ -d "$folder" ]; then
        python3 infra/release/provenance.py "$folder" <<<"$named"
        sign "$folder"
        rm "$folder/image" "$folder/options"
        gcloud artifacts generic upload --source-directory="$folder" --package="$name" --version="$tag" \
            --repository="$NAME-documents" --location="$REGION" --project="$IMAGES_PROJECT"
    elif ! uploaded "$name" "$tag"; then
        echo "Warning: nobody recorded what $image was built of, as its release was cut short. Raise TAG in \
contracts/trellis_contracts/job_image.py to build it again." >&2
    fi
done <.release/images
