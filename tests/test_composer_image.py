"""What a release installs into Composer, against an image's packages: made wheels, resolved."""

import functools
import zipfile

import pytest

from tests import composer_image
from tests.composer_image import pins, problems, resolve

IMAGE = {"airflow": "3.0+composer", "compat": "1.18", "http": "4.1", "beam": "6.2"}


@pytest.fixture
def index(tmp_path):
    """The packages that there are: index("provider", "22.8", "compat>=1.23"); then resolves."""

    def add(name, version, *needs):
        info = f"{name}-{version}.dist-info"
        with zipfile.ZipFile(tmp_path / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            needed = "".join(f"Requires-Dist: {need}\n" for need in needs)
            wheel.writestr(f"{info}/METADATA", head + needed)
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")

    for version in ("3.0", "3.1"):
        add("airflow", version)
    for version in ("1.18", "1.23", "1.24"):
        add("compat", version)
    for version in ("4.1", "4.2"):
        add("http", version)
    for version in ("6.2", "6.3"):
        add("beam", version)
    add.resolve = functools.partial(_offline, tmp_path)
    return add


def _offline(folder, fixed, kept):
    return resolve(fixed, kept, "--no-index", "--find-links", str(folder))


def found(index, installed, tested=None):
    return problems(IMAGE, installed, tested or {}, index.resolve)


def test_what_must_change_has_to_be_pinned(index):
    index("provider", "22.8", "compat>=1.23", "http", "airflow")
    (line,) = found(index, {"provider": "22.8"}, {"compat": "1.23"})
    assert line.startswith("compat: the image has 1.18")
    assert line.endswith("compat==1.23")
    assert found(index, {"provider": "22.8", "compat": "1.23"}) == []


def test_what_could_be_newer_stays(index):
    """A package that no list has is taken as new as it is, and would have others change for it."""
    index("ray", "1", "http")
    index("ray", "2", "http>=4.2")
    index("provider", "22.8", "ray")
    assert found(index, {"provider": "22.8"}) == []


def test_what_fits_changes_nothing(index):
    index("provider", "22.8", "compat", "beam<7")
    assert found(index, {"provider": "22.8"}) == []


def test_a_version_that_the_tests_do_not_have_is_named(index):
    index("provider", "22.8")
    (line,) = found(index, {"provider": "22.8"}, {"provider": "22.9"})
    assert line.startswith("provider==22.8: the tests have 22.9")


@pytest.mark.parametrize("needs", ["airflow>=3.1", "compat>=2", "nowhere"])
def test_what_cannot_be_installed_is_named(index, needs):
    """Composer's Airflow stays; the others must exist."""
    index("provider", "22.8", needs)
    (line,) = found(index, {"provider": "22.8"})
    assert "cannot be installed" in line
    assert needs.partition(">")[0] in line


def test_the_lists_are_read():
    assert pins("# a==1\nb_C==2  # why\n\nd>=3\n") == {"b-c": "2"}
    image = pins(composer_image.IMAGE.read_text())
    assert image["apache-airflow"] == "3.3.1+composer"
    assert len(image) >= 25
    installed = pins(composer_image.INSTALLED.read_text())
    assert composer_image.WHEELS.keys() <= installed.keys()
    # The release named in infra/ has that image.
    assert "composer-3-airflow-3.3.1-build.0" in composer_image.IMAGE.read_text()
    variables = (composer_image.ROOT / "infra/variables.tf").read_text()
    assert '"composer-3-airflow-3.3.1-build.0"' in variables
