"""The fixtures of the tests that are expected to fail, without the check that no unit is lost,
since with a fault many are.
"""

from tests.allocation.conftest import make_pool, make_process
from tests.races.conftest import meanwhile, rival

__all__ = ["make_pool", "make_process", "meanwhile", "rival"]
