"""Image layouts as folders: read, and unpacked layer by layer."""

import pytest

from local_gcp.jobs import oci
from tests.jobs.layouts import Layer, write_layout


def test_an_image_says_how_it_is_run(tmp_path):
    config = {
        "Entrypoint": ["python", "-m", "app"],
        "Cmd": ["--help"],
        "Env": ["PATH=/bin", "OPTIONS=a=b"],
        "WorkingDir": "/app",
        "User": "1000",
    }
    write_layout(tmp_path, config, Layer())
    image = oci.read(tmp_path)
    assert (image.entrypoint, image.cmd) == (["python", "-m", "app"], ["--help"])
    assert image.env == {"PATH": "/bin", "OPTIONS": "a=b"}
    assert (image.workdir, image.user) == ("/app", "1000")


def test_what_an_image_leaves_out_has_defaults(tmp_path):
    write_layout(tmp_path, {}, Layer())
    image = oci.read(tmp_path)
    assert (image.entrypoint, image.cmd, image.env, image.workdir, image.user) == (
        (),
        (),
        {},
        "/",
        "",
    )


def test_a_layer_changes_those_below(tmp_path):
    lower = Layer({"a/kept": "1", "a/changed": "1", "a/gone": "1", "b/gone": "1"})
    upper = Layer({"a/changed": "2", "a/.wh.gone": "", "b/.wh..wh..opq": "", "b/new": "2"})
    write_layout(tmp_path, {}, lower, upper)
    root = oci.unpack(oci.read(tmp_path))
    files = {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}
    assert files == {"a/kept": "1", "a/changed": "2", "b/new": "2"}


def test_a_file_may_take_the_place_of_a_folder_and_of_a_link(tmp_path):
    lower = Layer({"folder/file": "1"}, links={"link": "folder"})
    write_layout(tmp_path, {}, lower, Layer({"folder": "2", "link": "2"}))
    root = oci.unpack(oci.read(tmp_path))
    assert (root / "folder").read_text() == (root / "link").read_text() == "2"


def test_it_is_unpacked_once(tmp_path):
    write_layout(tmp_path, {}, Layer({"a": "1"}))
    root = oci.unpack(oci.read(tmp_path))
    (root / "a").write_text("touched")
    assert oci.unpack(oci.read(tmp_path)) == root
    assert (root / "a").read_text() == "touched"


def test_what_was_interrupted_is_begun_anew(tmp_path):
    write_layout(tmp_path, {}, Layer({"a": "1"}))
    image = oci.read(tmp_path)
    partial = image.rootfs.with_suffix(".partial")
    (partial / "left").mkdir(parents=True)
    assert sorted(path.name for path in oci.unpack(image).iterdir()) == ["a"]


def test_no_link_leads_out_of_the_image(tmp_path):
    layout = tmp_path / "layout"
    escape = Layer(links={"out": str(tmp_path)})
    write_layout(layout, {}, escape, Layer({"out/written": "1"}))
    with pytest.raises(oci.LayoutError, match="an entry outside of the image: out"):
        oci.unpack(oci.read(layout))
    assert not (tmp_path / "written").exists()


def test_a_folder_without_an_image_is_refused(tmp_path):
    with pytest.raises(oci.LayoutError, match="is no OCI image layout: FileNotFoundError"):
        oci.read(tmp_path)
    write_layout(tmp_path, {}, Layer(), images=2)
    with pytest.raises(oci.LayoutError, match="holds 2 images; write one image per folder"):
        oci.read(tmp_path)


def test_a_layer_that_is_no_tar_file_is_named(tmp_path):
    write_layout(tmp_path, {}, Layer(raw=b"\x28\xb5\x2f\xfd zstd"))
    with pytest.raises(oci.LayoutError, match="is neither a plain nor a gzipped tar file"):
        oci.unpack(oci.read(tmp_path))
