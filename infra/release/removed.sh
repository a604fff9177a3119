#!/usr/bin/env bash
# Refuses to remove an experiment whose run is in flight: without its DAG, a waiting task dies, a job goes
# on without anybody, and the traffic of a canary stays divided. Nor is one removed whose canary is half
# done, though its run has ended: nothing but the experiment's DAGs can finish it or take it back.
set -euo pipefail

stop() { echo "No DAG file was changed: $1" >&2; exit 1; }

if ! there=$(gcloud storage ls "gs://$DAGS_BUCKET/dags/trellis/experiments/*.yaml" 2>&1); then
    # The first release has nothing to remove.
    [[ "$there" == *"matched no objects"* ]] || stop "$there"
    exit 0
fi
prefix=$(sed -n 's/^dag_prefix: *//p' "dags/$PLATFORM")

# The runs of a DAG in a state, as JSON; nothing if Airflow knows no such DAG.
runs() {
    local found
    if found=$(gcloud composer environments run "$NAME" --project "$PROJECT" --location "$REGION" \
        dags list-runs -- "$1" --state "$2" --output json 2>&1); then
        echo "$found"
    elif [[ "$found" != *"not found"* ]]; then
        stop "the runs of $1 are not known: $found"
    fi
}

# The endpoints of an experiment whose traffic goes to more than one model, with the shares.
divided() {
    local found
    found=$(gcloud ai endpoints list --project "$PROJECT" --region "$REGION" \
        --filter "labels.trellis-experiment=$1" --format json 2>/dev/null) \
        || stop "the endpoints of $1 are not known: gcloud ai endpoints list fails"
    python3 -c '
import json, sys

for endpoint in json.load(sys.stdin):
    shares = [share for share in endpoint.get("trafficSplit", {}).values() if share]
    if len(shares) > 1:
        print(endpoint["name"], "/".join(map(str, sorted(shares))))
' <<<"$found"
}

for file in $there; do
    experiment=$(basename "$file" .yaml)
    [ -f "dags/experiments/$experiment.yaml" ] && continue
    for dag in "$prefix$experiment" "$prefix$experiment-predict" "$prefix$experiment-reserve"; do
        for state in running queued; do
            found=$(runs "$dag" "$state")
            [[ "$found" != *'"run_id"'* ]] || stop \
                "$experiment is to be removed, and a run of the DAG $dag is $state. Let it end, or mark it as failed \
(its jobs are then cancelled, and a canary retreats), then release again"
        done
    done
    found=$(divided "$experiment")
    [ -z "$found" ] || stop \
        "$experiment is to be removed, and its traffic is divided: $found. Clear the task of the canary that \
failed, or roll back, so that one model gets all of it; then release again"
done
