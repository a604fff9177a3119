"""The quotas that the experiments' machines need."""

from trellis.vertex import quotas
from trellis.workflow.pricing import machines


def test_every_accelerator_has_its_name_in_quotas():
    assert sorted(quotas.ACCELERATORS) == machines.table().gpus
