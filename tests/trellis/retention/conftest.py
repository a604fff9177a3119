from tests.trellis.workflow.conftest import digits

__all__ = ["digits"]
