"""The quotas that the experiments' machines need."""

from trellis.doctor import demand
from trellis.workflow.pricing import machines


def test_every_accelerator_has_its_name_in_quotas():
    assert sorted(demand.QUOTA_NAMES) == machines.table().gpus
