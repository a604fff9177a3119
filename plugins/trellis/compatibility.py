"""Requirements of Trellis on the Airflow that it is installed in; `import trellis` checks them."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version

HOW = "Trellis's docs/how-to/composer.md lists what an environment needs."


@dataclass(frozen=True)
class Need:
    """A distribution and its oldest version. why: what is missing in older ones. remedy: for it."""

    distribution: str
    oldest: str
    why: str
    remedy: str


NEEDS = (
    # BaseTrigger.on_kill came with 3.3.0; 3.3.1 is the oldest that the tests run on.
    Need(
        "apache-airflow-core",
        "3.3.1",
        "Airflow before 3.3 does not report to a trigger that its task was killed, so the task's "
        "job on Google Cloud would go on and cost money.",
        "On Composer, choose an image of Airflow 3.3.1 or later (composer-3-airflow-3.3.1); "
        "elsewhere, upgrade Airflow.",
    ),
    # 22.7.0 has all else; 22.4.0 and older lack CreateCustomJobOperator, too.
    Need(
        "apache-airflow-providers-google",
        "22.8.0",
        "Older versions lack cancel_on_kill of DataflowStartFlexTemplateOperator: the Dataflow job "
        "of an export that was killed while it was deferred would go on and cost money.",
        "On Composer, add apache-airflow-providers-google==22.8.0 to the environment's PyPI "
        "packages; elsewhere, install it with pip.",
    ),
)


def check() -> None:
    """Raise ImportError if Airflow or its Google provider is too old for Trellis.

    Beside no Airflow at all, `load_run` works, and nothing else has to.
    """
    # Airflow 2 has no apache-airflow-core.
    if not any(_version(name) for name in ("apache-airflow", NEEDS[0].distribution)):
        return
    for need in NEEDS:
        installed = _version(need.distribution)
        # Composer's own builds have versions like 3.3.1+composer, which is not older than 3.3.1.
        if not installed or Version(installed) < Version(need.oldest):
            found = f"{need.distribution} {installed} is" if installed else "it is not"
            raise ImportError(
                f"Trellis needs {need.distribution} {need.oldest} or later; {found} installed. "
                f"{need.why} {need.remedy} {HOW}"
            )


def _version(distribution: str) -> str:
    """Empty if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
