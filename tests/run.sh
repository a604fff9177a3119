#!/bin/sh
# Runs each part's tests in the environment that the part runs in; further arguments go to pytest.
# Every part is run even when an earlier one failed; the exit code says whether all passed.
# ARGS (make test ARGS="-k name") narrows the choice: a part in which it selects no test then passes,
# as long as another part has run one. Without ARGS every part must run at least one test.
cd "$(dirname "$0")/.." || exit 1
failed=0
ran=0
NOTHING_SELECTED=5 # exit code, as pytest's

run() {
    environment=$1
    shift
    echo "== $environment: $1"
    # ARGS is split into words as a shell splits them: -k "this or that" stays two arguments.
    eval ".venv/$environment/bin/python -m pytest \"\$@\" ${ARGS:-}"
    code=$?
    if [ $code -eq $NOTHING_SELECTED ] && [ -n "${ARGS:-}" ]; then return; fi
    ran=1
    [ $code -eq 0 ] || failed=1
}

# Files go to workers, one for each of CI's two cores. The tests of one file stay together and in
# order; where tests wait for servers and jobs, the files that start them begin first (conftest.py),
# so that no worker has a long one left when the others are done.
two="-n 2 --dist loadfile"
long_first="$two --no-loadscope-reorder"
# A test that waits for real processes can fail on a busy machine: it runs once more, and the summary
# shows why it failed. A test that fails twice fails the part; each worker gives three second runs.
again="--reruns 1 --max-suite-reruns 3 --rerun-show-tracebacks"
local_gcp() {
    run local_gcp local_gcp/tests $two $again "$@"
}

trainer() {
    run trainer tests/contracts tests/trainer $two $again "$@"
}

whole_runs() {
    run infra tests/infra "$@"
    run airflow tests/end_to_end $again "$@"
}

airflow() {
    run airflow tests/test_*.py tests/dags tests/trellis tests/demo tests/docker \
        tests/conformance tests/benchmarks $long_first $again "$@"
}

# On the Airflow of Composer's newest image: the operators, the DAGs and the pages; all of it with the
# slow tests. What is marked one_airflow is left to the newer Airflow: made-up files, pages, and what
# calls Airflow as another test here does, or not at all. In one process: a second would compute as
# much for its imports, database and api-server as for its tests.
composer() {
    case "$*" in
    *"not slow"*)
        run composer tests/dags tests/trellis/test_*.py tests/trellis/vertex/test_operators.py \
            tests/trellis/bigquery tests/trellis/dataflow tests/trellis/web \
            tests/trellis/workflow/assembly $again "$@" -m "not slow and not one_airflow"
        ;;
    *) run composer tests/dags tests/trellis $long_first $again "$@" ;;
    esac
}

second=
case "$*" in
*"not slow"*)
    # Two lines of parts beside each other: what the first leaves of two cores, as it waits for servers
    # and jobs, the second computes with.
    parts="whole_runs airflow"
    second="trainer composer local_gcp"
    ;;
*) parts="local_gcp trainer whole_runs airflow composer" ;;
esac
if [ -n "${PARTS:-}" ]; then # this is the second line
    parts=$PARTS
    second=
fi

if [ -n "$second" ]; then
    mkdir -p .local
    log=.local/tests.log
    echo "== beside these, shown at the end, till then in $log: $second"
    # Ctrl-C is for both: a shell's background processes ignore it unless they are told not to.
    PARTS=$second env --default-signal=INT sh tests/run.sh "$@" >"$log" 2>&1 &
fi
for part in $parts; do $part "$@"; done
if [ -n "$second" ]; then
    wait $!
    code=$?
    cat "$log"
    ran=$((ran + (code != NOTHING_SELECTED)))
    failed=$((failed + (code != 0 && code != NOTHING_SELECTED)))
fi

if [ $ran -gt 0 ]; then exit $((failed > 0)); fi
if [ -n "${PARTS:-}" ]; then exit $NOTHING_SELECTED; fi
echo "No test was run: ARGS=\"${ARGS:-}\" selects none in any environment." >&2
exit 1
