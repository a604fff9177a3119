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

# Files go to two workers; the tests of one file stay together and in order.
run local_gcp tests/local_gcp -n 2 --dist loadfile "$@"
run trainer tests/trainer -n 2 --dist loadfile "$@"
run airflow tests/dags tests/plugins tests/demo -n 2 --dist loadfile "$@"
run airflow tests/end_to_end "$@"
exit $failed
