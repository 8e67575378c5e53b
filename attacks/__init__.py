"""Adversaries: canaries and the scores with which they tell releases apart. Never torch."""

from attacks.bucket_likelihood import BucketLikelihood
from attacks.canary_design import CanaryDesign, design_canary
from attacks.coinciding_likelihood import CoincidingLikelihood

__all__ = ["BucketLikelihood", "CanaryDesign", "CoincidingLikelihood", "design_canary"]
