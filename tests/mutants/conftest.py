"""The fixtures of the tests that are to go red; without the check that nothing is lost, for with a
fault much is.
"""

from tests.allocation.conftest import make_pool, make_process
from tests.races.conftest import meanwhile, rival

__all__ = ["make_pool", "make_process", "meanwhile", "rival"]
