"""Run a mechanism many times with and without a canary, attack it, and bound epsilon from below.

>>> from dpaudit.engine import BlockMechanism, audit
>>> def answer(bit, trials, rng):  # randomised response with probability 3/4
...     return bit ^ (rng.random(trials) < 0.25)
>>> class Bit:
...     def score(self, releases):
...         return releases
>>> result = audit(BlockMechanism(answer), Bit(), data_in=True, data_out=False, epsilon=0.5)
>>> result.verdict
'refuted'
"""

from dpaudit.engine.attack_scores import Attack
from dpaudit.engine.backends import BackendError
from dpaudit.engine.black_box_audit import audit
from dpaudit.engine.canary import CanaryPair, worst_case
from dpaudit.engine.canary_search import search_canaries
from dpaudit.engine.external_command import ExternalCommand
from dpaudit.engine.mechanism import BlockMechanism, Mechanism, PerTrial
from dpaudit.engine.outcomes import Failure
from dpaudit.engine.result import AuditEstimate, AuditResult
from dpaudit.engine.store_lock import StoreError

__all__ = [
    "Attack",
    "AuditEstimate",
    "AuditResult",
    "BackendError",
    "BlockMechanism",
    "CanaryPair",
    "ExternalCommand",
    "Failure",
    "Mechanism",
    "PerTrial",
    "StoreError",
    "audit",
    "search_canaries",
    "worst_case",
]
