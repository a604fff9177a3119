"""The page of the DAG rollback in the UI, and what to do when one of its tasks fails."""

_AGAIN = "Clear this task once the cause is fixed: it does not repeat what is done."

ADVICE = {
    "resolve": "Nothing was changed. Trigger a new run with one of the versions in the message.",
    "endpoint": _AGAIN,
    "deploy": "The served model is unchanged. If the version does not start, trigger a new run "
    "with another one; otherwise clear this task once the cause is fixed.",
    "champion": f"The version has all requests, but its alias has not moved. {_AGAIN}",
    "shift": _AGAIN,
    "undeploy": f"The version is served; the one that it replaced still costs money. {_AGAIN}",
    "result": "Follow the message.",
}

PAGE = """\
Returns to an earlier version of an experiment's model, in one run.

### At night

1. **Trigger** this DAG and choose the experiment. `previous` is the champion before the current
   one; a version's number or any alias works too.
2. It takes seconds if that version is still deployed, otherwise some minutes. Until then, the
   current version keeps answering.
3. **Green**: the version is served and is the champion. If tasks were skipped, it was so already,
   and the log of `resolve` says why.
4. **Red**: the last lines of the task's log (`TRELLIS FAILURE`) name the cause and what to do.
   Requests are still answered.
5. A run of the experiment that is deploying at the same time stops by itself. Leave it alone.

| task | what it does |
|---|---|
| resolve | finds the version; if there is none, refuses and lists those that exist |
| endpoint | finds the endpoint, or creates it if someone deleted it |
| deploy | deploys the version if necessary, on the machines of the file; then sends it all \
requests |
| champion | moves the aliases: `champion` to the version, `previous` to the last champion |
| shift | sends it all requests again, in case a deployment took some meanwhile |
| undeploy | undeploys versions without requests, except those of a deployment that is running |
| result | checks the outcome |

Experiments: {experiments}. Triggering twice in a row rolls back once, and `previous` after a
rollback that failed half-way completes it. You may clear a run or kill its tasks at any time: it
continues with the version that it began with.
"""


def page(experiments: list[str]) -> str:
    """The DAG's doc_md."""
    return PAGE.format(experiments=", ".join(f"`{name}`" for name in experiments))
