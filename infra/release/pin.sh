#!/usr/bin/env bash
# Writes the digest behind each image that is named by a tag alone: a tag can be moved, a digest cannot. Looks at
# the Dockerfiles (base images and frontends), at the builders of infra/cloudbuild.yaml, and at the program that lists
# an image's packages (images.sh). Needs Docker and the registries. Look at `git diff`, and commit.
#
#   pin.sh          writes them
#   pin.sh --list   prints the images that have none, and asks nobody
#   pin.sh --all    prints every image: the file that names it, and its name
set -euo pipefail

list=${1:-}

# Every image: file, name with tag and digest, and the text at the end of its line, divided by tabs.
named() {
    local file argument image tag
    for file in docker/Dockerfile docker/Dockerfile.image dags/experiments/programs/*/Dockerfile; do
        [ -f "$file" ] || continue
        sed -n "s|^# syntax=\(.*\)$|$file\t\1\t# syntax=\1|p" "$file"
        sed -n "s|^FROM \([^ \$]*:[^ \$]*\)\( .*\)\?$|$file\t\1\t\1|p" "$file"
    done
    while read -r argument image; do
        tag=$(sed -n "s/^ARG $argument=//p" docker/Dockerfile)
        printf 'docker/Dockerfile\t%s:%s\tARG %s=%s\n' "$image" "$tag" "$argument" "$tag"
    done <<'END'
PYTHON python
BEAM apache/beam_python3.11_sdk
LAUNCHER gcr.io/dataflow-templates-base/python312-template-launcher-base
END
    sed -n 's|^ *name: \(.*\)$|infra/cloudbuild.yaml\t\1\tname: \1|p' infra/cloudbuild.yaml | sort -u
    sed -n 's|^SYFT=\(.*\)$|infra/release/images.sh\t\1\tSYFT=\1|p' infra/release/images.sh
}

images=$(named)
while IFS=$'\t' read -r file image ending; do
    if [ "$list" = --all ]; then
        printf '%s\t%s\n' "$file" "$image"
    elif [[ $image == *@sha256:* ]]; then
        continue
    elif [ "$list" = --list ]; then
        echo "$image"
    else
        digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$image")
        if [[ ! $digest =~ ^sha256:[0-9a-f]{64}$ ]]; then
            echo "$image has no digest: $digest" >&2
            exit 1
        fi
        sed -i "s|$ending\( AS .*\)\?\$|$ending@$digest\1|" "$file"
        echo "$image@$digest"
    fi
done <<<"$images"
