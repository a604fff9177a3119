import os
import subprocess
import sys

import numpy as np
import pytest

from trainer.exporting import vector_sort

# Of /proc/cpuinfo, shortened.
_DESCRIBED = """processor\t: 0
vendor_id\t: {vendor}
cpu family\t: {family}
model name\t: a processor
flags\t\t: fpu vme {flags}

processor\t: 1
vendor_id\t: {vendor}
cpu family\t: {family}
flags\t\t: fpu vme {flags}
"""
ZEN_4 = {"vendor": "AuthenticAMD", "family": 25, "flags": "avx2 avx512f avx512_vnni"}


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """A function: a processor -> what NumPy is told to leave out."""

    def chosen(**processor):
        (tmp_path / "cpuinfo").write_text(_DESCRIBED.format(**processor))
        vector_sort.choose(tmp_path / "cpuinfo")
        return os.environ.get("NPY_DISABLE_CPU_FEATURES")

    # So that what `choose` sets is gone after the test.
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "")
    monkeypatch.delenv("NPY_DISABLE_CPU_FEATURES")
    return chosen


def test_zen_4_sorts_without_avx_512(chosen):
    assert chosen(**ZEN_4) == "X86_V4 AVX512_ICL"


@pytest.mark.parametrize(
    "other",
    [
        {"flags": "avx2"},  # Zen 3
        {"family": 26},  # Zen 5
        {"vendor": "GenuineIntel", "family": 6},
    ],
)
def test_other_processors_sort_as_numpy_chooses(chosen, other):
    assert chosen(**ZEN_4 | other) is None


def test_a_choice_of_the_user_is_kept(chosen, monkeypatch):
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "AVX512_ICL")
    assert chosen(**ZEN_4) == "AVX512_ICL"


def test_nothing_is_chosen_where_the_system_does_not_name_its_processors(tmp_path, monkeypatch):
    monkeypatch.delenv("NPY_DISABLE_CPU_FEATURES", raising=False)
    vector_sort.choose(tmp_path / "absent")
    assert "NPY_DISABLE_CPU_FEATURES" not in os.environ


def test_numpy_leaves_it_out(chosen):
    chosen(**ZEN_4)
    code = (
        "from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__ as there\n"
        "print(*[name for name in __cpu_dispatch__ if there[name]])"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    left_out = {"X86_V4", "AVX512_ICL"}
    assert not left_out & set(run.stdout.split())
    # Other names would change nothing.
    assert left_out <= set(np._core._multiarray_umath.__cpu_dispatch__)


def test_an_export_chooses_before_it_imports_numpy(tmp_path):
    code = (
        "import sys\n"
        "from trainer import export\n"
        "from trainer.exporting import vector_sort\n"
        "vector_sort.choose = lambda: print('numpy' in sys.modules)\n"
        "export.main(sys.argv[1:])"
    )
    flags = [f"--source={tmp_path}/columns.json", f"--output={tmp_path}/out", "--fingerprint=f"]
    run = subprocess.run([sys.executable, "-c", code, *flags], capture_output=True, text=True)
    assert run.stdout.split() == ["False"], run.stderr
