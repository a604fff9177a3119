#!/usr/bin/env bash
# Writes the digest behind each image that has none into docker/Dockerfile and infra/cloudbuild.yaml: a
# tag can be moved, a digest cannot. Needs Docker and the registries. Look at `git diff`, and commit.
#
#   pin.sh          writes them
#   pin.sh --list   prints the images that have none, and asks nobody
set -euo pipefail

list=${1:-}

pin() { # file, image with its tag, the end of the line that names it
    local digest
    if [ "$list" = --list ]; then
        echo "$2"
        return
    fi
    digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$2")
    if [[ ! $digest =~ ^sha256:[0-9a-f]{64}$ ]]; then
        echo "$2 has no digest: $digest" >&2
        exit 1
    fi
    sed -i "s|$3\$|$3@$digest|" "$1"
    echo "$2@$digest"
}

while read -r argument image; do
    tag=$(sed -n "s/^ARG $argument=//p" docker/Dockerfile)
    if [[ $tag != *@* ]]; then
        pin docker/Dockerfile "$image:$tag" "ARG $argument=$tag"
    fi
done <<'END'
PYTHON python
BEAM apache/beam_python3.11_sdk
LAUNCHER gcr.io/dataflow-templates-base/python312-template-launcher-base
END

images=$(sed -n 's/^ *name: \([^@]*\)$/\1/p' infra/cloudbuild.yaml | sort -u)
for image in $images; do
    pin infra/cloudbuild.yaml "$image" "name: $image"
done
