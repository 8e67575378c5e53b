"""For other people's test suites: assert that a mechanism is not shown to break its claim.

>>> import numpy as np
>>> from dpaudit.testing import assert_private
>>> def coin(bit, trials, rng):  # randomised response with epsilon ln 3
...     return bit ^ (rng.random(trials) < 0.25)
>>> result = assert_private(coin, epsilon=1.1, data_in=True, data_out=False, form="block")
>>> result.verdict
'not refuted'
"""

from dpaudit.testing.assertion import assert_private

__all__ = ["assert_private"]
