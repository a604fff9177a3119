#!/usr/bin/env bash
# Refuses to remove an experiment whose run is in flight: without its DAG, a waiting task dies, a job goes
# on without anybody, and the traffic of a canary stays divided.
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

for file in $there; do
    experiment=$(basename "$file" .yaml)
    [ -f "dags/experiments/$experiment.yaml" ] && continue
    for dag in "$prefix$experiment" "$prefix$experiment-predict"; do
        for state in running queued; do
            found=$(runs "$dag" "$state")
            [[ "$found" != *'"run_id"'* ]] || stop \
                "$experiment is to be removed, and a run of the DAG $dag is $state. Let it end, or mark it as failed \
(its jobs are then cancelled, and a canary retreats), then release again"
        done
    done
done
