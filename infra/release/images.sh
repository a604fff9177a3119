#!/usr/bin/env bash
# Builds and pushes the job images, once for each version: a model is served by the image that it was
# trained with. A second tag names the sources, so that a change without a new version is noticed.
# Of a group's own images, the version ends with the digest of their requirements: those may change alone.
# Leaves in .release/, for documents.sh and scan.py: the names of all images of this release, and of those that it
# built the packages in each (SBOM) and the digests of its sources.
set -euo pipefail
. infra/release/versions.sh

export DOCKER_BUILDKIT=1
SYFT=anchore/syft:v1.51.1@sha256:95fe0835e5bebc6f8b1f8acef68d47d63d594ef4c0f25c097ff853b23cbac74c
rm -rf .release && mkdir .release
# Base images by digest in this checkout, too: a tag that was moved is a change of the sources.
bash infra/release/pin.sh
find contracts/trellis_contracts trainer docker/Dockerfile docker/Dockerfile.image docker/packages tools.txt -type f ! -path '*/__pycache__/*' -print0 \
    | sort -z | xargs -0 sha256sum >.release/sources.sha256
sources=$(sha256sum <.release/sources.sha256 | cut -c1-16)

released() { docker manifest inspect "$1" >/dev/null 2>&1; }

describe() { # image, name, tag, what docker build was given
    local folder=".release/$2/$3"
    mkdir -p "$folder"
    docker run --rm --volume /var/run/docker.sock:/var/run/docker.sock "$SYFT" "docker:$1" \
        --quiet --output spdx-json >"$folder/sbom.spdx.json"
    cp .release/sources.sha256 "$folder"
    printf '%s\n' "${@:4}" >"$folder/options"
    docker inspect --format '{{index .RepoDigests 0}}' "$1" | tee "$folder/image"
}

publish() { # repository, tag, name of the Dockerfile, further options of docker build
    local image="$IMAGES/$1:$2" source="$IMAGES/$1:source-$sources${2#"$IMAGE"}" file="docker/$3" name="$1" tag="$2"
    shift 3
    echo "$image" >>.release/images
    if released "$image"; then
        if released "$source"; then
            echo "$image is there, of these sources"
            return
        fi
        echo "$image was built of other sources. Raise TAG in" >&2
        echo "contracts/trellis_contracts/job_image.py" >&2
        exit 1
    fi
    if released "$source"; then
        # A push was cut short. Built again it would have another digest.
        docker pull --quiet "$source"
        docker tag "$source" "$image"
        docker push "$image"
        return
    fi
    docker build --file "$file" --tag "$image" --tag "$source" "$@" .
    # The version last: if it is there, so is the tag of its sources.
    docker push "$source"
    docker push "$image"
    describe "$image" "$name" "$tag" --file "$file" "$@"
}

for image in trainer serve; do
    publish "$image" "$IMAGE" Dockerfile --target "$image"
    publish "$image" "$IMAGE-gpu" Dockerfile --target "$image" --build-arg ACCELERATOR=gpu
done
publish export "$IMAGE" Dockerfile --target export

for requirements in dags/experiments/images/*.txt; do
    [ -f "$requirements" ] || continue
    digest=$(sha256sum "$requirements" | cut -c1-12)
    for gpu in "" -gpu; do
        publish "$(basename "$requirements" .txt)" "$IMAGE-$digest$gpu" Dockerfile.image \
            --build-arg TRAINER="$IMAGES/trainer:$IMAGE$gpu" --build-arg REQUIREMENTS="$requirements"
    done
done
