"""`image` and `serve_image`: ours with the packages of a file beside the experiment's."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.airflow_side import ROOT
from tests.trellis.workflow.plans import a_plan, conf_of
from trellis.workflow.contracts import layout
from trellis.workflow.contracts.plan import from_file
from trellis.workflow.contracts.run_params import apply
from trellis.workflow.spec import job_images, own_image
from trellis.workflow.spec.problems import FileError
from trellis.workflow.stages import compare, train, tune
from trellis.workflow.validation.file import load, with_changes
from trellis_contracts import job_image

BOOSTING = (ROOT / "dags/experiments/gradient-boosting.yaml").read_text()
FILE = (ROOT / "dags/experiments/gradient_boosting.py").read_text()


@pytest.fixture
def loaded(tmp_path):
    """A function: lines of the experiment, its images' requirements -> the experiment."""

    def loaded(lines="image: deep\n", file=FILE, **requirements):
        folder = tmp_path / "experiments"
        (folder / "images").mkdir(parents=True, exist_ok=True)
        for name, text in {"deep": "einops==0.8.2\n", **requirements}.items():
            (folder / f"images/{name}.txt").write_text(text)
        (folder / "gradient_boosting.py").write_text(file)
        (folder / "cells.yaml").write_text(lines + BOOSTING)
        return load(folder / "cells.yaml")

    return loaded


def tag_of(text):
    return f"{job_image.TAG}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def images_of(experiment, group):
    """The images of a run's jobs, of tuning, training and comparison, as their messages name
    them.
    """
    plan = a_plan(experiment, layout.Run("b", experiment.name, "run"))
    pools = [tune.job(plan, group)["trial_job_spec"], train.job(plan, group, train.UNTUNED)]
    pools = [one.get("job_spec", one) for one in (*pools, compare.job(plan, group))]
    return {one["worker_pool_specs"][0]["container_spec"]["image_uri"] for one in pools}


def test_every_job_runs_in_it_and_it_serves(loaded, group):
    experiment = loaded()
    expected = f"{group.registry}/deep:{tag_of('einops==0.8.2' + chr(10))}"
    assert images_of(experiment, group) == {expected}
    assert job_images.of_server(experiment, group, gpu=False) == expected
    assert job_images.of_jobs(experiment, group, gpu=True) == f"{expected}-gpu"
    ours = f"{group.registry}/trainer:{job_image.TAG}"
    assert images_of(loaded(lines=""), group) == {ours}


def test_another_one_may_serve(loaded, group):
    experiment = loaded("image: deep\nserve_image: light\n", light="onnxruntime==1.24.1\n")
    assert "/light:" in job_images.of_server(experiment, group, gpu=False)
    assert {address.split(":")[0] for address in images_of(experiment, group)} == {
        f"{group.registry}/deep"
    }


def test_an_image_of_a_server_needs_something_that_serves(loaded, group):
    file = loaded("image: deep\nserve_image: light\n", light="onnxruntime==1.24.1\n")
    with pytest.raises(FileError) as refused:
        with_changes(file, {("deploy",): None})
    (found,) = refused.value.problems
    assert found.field == ("serve_image",)
    assert "deploy" in found.message
    # A run that is told to deploy nothing starts no server, and is no mistake in the file.
    run = apply(file, {**conf_of(file), "deploy": False})
    assert (run.deploy, run.serve_image) == (None, None)


def test_an_image_of_a_server_may_be_that_of_batch_predictions_alone(loaded, group):
    file = loaded("image: deep\nserve_image: light\n", light="onnxruntime==1.24.1\n")
    predict = {"bigquery": "d.t", "machines": {"type": "n1-standard-2"}}
    predicting = with_changes(file, {("predict",): predict, ("deploy",): None})
    assert predicting.serve_image == "light"
    both = with_changes(file, {("predict",): predict})
    assert apply(both, {**conf_of(both), "deploy": False}).serve_image == "light"


def test_another_list_is_another_image_also_of_a_run_that_is_planned(loaded, group):
    """The plan has the image that it was made for, whatever becomes of the file."""
    before = loaded()
    plan = a_plan(before, layout.Run("b", before.name, "run"))
    changed = loaded(deep="einops==0.8.3\n")
    assert images_of(changed, group) != images_of(before, group)
    again = from_file(plan.file(), plan.run).experiment
    assert images_of(again, group) == images_of(before, group)
    assert images_of(with_changes(before, {("train", "epochs"): 3}), group) == (
        images_of(before, group)
    )


def test_a_network_beside_it_is_trained_in_it(loaded, group):
    experiment = loaded()
    plan = a_plan(experiment, layout.Run("b", experiment.name, "run"))
    job = train.job(plan, group, train.untuned("dense", 2))
    container = job["job_spec"]["worker_pool_specs"][0]["container_spec"]
    assert "--model=dense" in container["args"]
    assert {container["image_uri"]} == images_of(experiment, group)


@pytest.mark.parametrize(
    ("lines", "requirements", "problem"),
    [
        ("image: depe\n", {}, "did you mean 'deep'"),
        ("image: trainer\n", {}, "none of trainer, serve, export"),
        ("image: Deep\n", {}, "lower-case letters"),
        ("image: [deep]\n", {}, "expected the name of a file"),
        ("image: none\n", {"none": "# nothing yet\n--no-index\n\n"}, "names no package"),
        ("image: deep\nserve_image: lihgt\n", {"light": "a==1\n"}, "did you mean 'light'"),
    ],
)
def test_what_is_no_image_is_refused_at_its_line(loaded, lines, requirements, problem):
    with pytest.raises(FileError, match=problem) as refused:
        loaded(lines, **requirements)
    (found,) = refused.value.problems
    assert found.field == (lines.splitlines()[-1].partition(":")[0],)
    assert found.line == len(lines.splitlines())


def test_its_packages_may_be_imported_and_no_others_without_it(loaded):
    file = f"import einops\n{FILE}"
    assert loaded(file=file).image == "deep"
    with pytest.raises(FileError, match="imports einops, which the image does not have"):
        loaded("", file)
    with pytest.raises(FileError, match="a relative import"):
        loaded(file=f"from . import einops\n{FILE}")


@given(st.sampled_from([None, "0" * 64, "f" * 64]), st.booleans())
def test_a_tag_says_version_requirements_and_accelerator(sha256, gpu):
    own = own_image.tag(sha256, gpu=gpu)
    assert own.startswith(job_image.TAG)
    assert own.endswith("-gpu") is gpu
    assert (sha256 is None) or f"-{sha256[:12]}" in own


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("eu-docker.pkg.dev/lab/x/serve:1", "eu-docker.pkg.dev/lab/x/serve@sha256:ab"),
        ("eu-docker.pkg.dev/lab/x/serve", "eu-docker.pkg.dev/lab/x/serve@sha256:ab"),
        ("host:5000/x/serve:1", "host:5000/x/serve@sha256:ab"),
        ("x/serve@sha256:ab", "x/serve@sha256:ab"),
    ],
)
def test_an_image_is_named_by_its_digest_where_that_is_known(address, named):
    assert job_images.by_digest(address, {address: "sha256:ab"}) == named
    assert job_images.by_digest(address, {"another:1": "sha256:ab"}) == address
