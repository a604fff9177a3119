"""Ours beside what well-kept libraries answer to the same inputs: peers/observe.py and
peers/observe_scores.py have asked them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.peers.beside import Beside
from trainer import conformal, postprocessing
from trainer.metrics import net_benefit

PEERS = json.loads((Path(__file__).parent / "peers/peers.json").read_text())
LEVELS = [*PEERS["classes"]["sets"]]


@pytest.mark.parametrize("level", LEVELS)
def test_sets_are_mapies_with_the_most_probable_class(level):
    given = {
        name: np.array(PEERS["classes"][name]) for name in ("labels", "probabilities", "asked")
    }
    made = conformal.of_classes(float(level), given["labels"], given["probabilities"], None)
    theirs = np.array(PEERS["classes"]["sets"][level])
    most = np.eye(3, dtype=bool)[given["asked"].argmax(axis=1)]
    np.testing.assert_array_equal(postprocessing.members(made, given["asked"]), theirs | most)


@pytest.mark.parametrize("level", LEVELS)
def test_intervals_are_mapies(level):
    given = {name: np.array(PEERS["numbers"][name]) for name in ("labels", "values", "asked")}
    made = conformal.of_numbers(float(level), given["labels"], given["values"], None)
    theirs = np.array(PEERS["numbers"]["intervals"][level])
    np.testing.assert_allclose(postprocessing.interval(made, given["asked"]), theirs, atol=1e-9)


def test_net_benefit_is_that_of_dcurves():
    given = PEERS["net_benefit"]
    positive, scores, at = (np.array(given[name]) for name in ("positive", "scores", "at"))
    found = net_benefit.net_benefit(positive, scores, at)
    np.testing.assert_allclose(found, given["model"], atol=1e-12)
    np.testing.assert_allclose(net_benefit.of_all(positive, at), given["all"], atol=1e-12)


@pytest.mark.parametrize("row", list(Beside().rows()), ids=lambda row: f"{row.library}: {row.what}")
def test_figures_of_breast_cancer_are_those_of_well_kept_libraries(row):
    assert row.ours == pytest.approx(row.theirs, rel=0, abs=row.within)
