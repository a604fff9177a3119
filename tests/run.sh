#!/bin/sh
# Runs each part's tests in the environment that the part runs in; further arguments go to pytest.
# Every part is run even when an earlier one failed; the exit code says whether all passed.
cd "$(dirname "$0")/.." || exit 1
failed=0

run() {
    environment=$1
    shift
    echo "== $environment: $1"
    .venv/"$environment"/bin/python -m pytest "$@" || failed=1
}

run local_gcp tests/local_gcp "$@"
run trainer tests/trainer "$@"
run airflow tests/dags tests/plugins tests/demo "$@"
run airflow tests/end_to_end "$@"
exit $failed
