"""The page of the DAG rollback in the Airflow UI, and what its failures advise."""

_AGAIN = "Clear this task once the cause is gone: what is done already is left alone."

ADVICE = {
    "resolve": "Nothing was changed. Trigger a new run with a version that the message names.",
    "endpoint": _AGAIN,
    "deploy": "What was served before still is. If the version's model does not start, trigger a "
    "new run with another version; else clear this task once the cause is gone.",
    "champion": f"The version has all requests, only its alias has not moved. {_AGAIN}",
    "shift": _AGAIN,
    "undeploy": f"The version is served; only what it replaced is still paid for. {_AGAIN}",
    "result": "Do as the message says.",
}

PAGE = """\
Puts an earlier version of an experiment's model back into service, in one run.

### At night

1. **Trigger** this DAG and choose the experiment. `previous` is the champion before today's; any
   version's number, or alias, will do.
2. It takes seconds if that version is still deployed, else some minutes; until it has all requests
   the one before it goes on answering.
3. **Green**: it is served and the champion. Skipped tasks: it was already so, `resolve` says why.
4. **Red**: the task's last lines (`TRELLIS FAILURE`) say why and what to do; requests are answered.
5. A run of the experiment that is in the middle of a deployment stops by itself: leave it.

| task | what it does |
|---|---|
| resolve | which version; refuses one that is not there, and names those that are |
| endpoint | found, or made again if someone deleted it |
| deploy | on the machines of the experiment's file, if need be; then all requests to it |
| champion | the aliases: `champion` to it, `previous` to what was the champion |
| shift | all requests, once more: in case a deployment that was under way took some |
| undeploy | what has no requests; a deployment under way is left to its own run |
| result | looks once more whether it is so |

Experiments: {experiments}. Triggering twice in a hurry rolls back once. A run may be cleared, or
its tasks killed, at any time: it goes on with the version that it began with.
"""


def page(experiments: list[str]) -> str:
    """The DAG's doc_md."""
    return PAGE.format(experiments=", ".join(f"`{name}`" for name in experiments))
