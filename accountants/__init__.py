"""Upper bounds: what a deployment guarantees. numpy, scipy and mpmath only; never torch."""

from accountants.calibration import tight_noise_std
from accountants.errors import DpauditError, ParameterError
from accountants.fre_e2t import LATTICE_STEP, FreE2TParameters
from accountants.gaussian import AnalyticGaussian
from accountants.grid_collision import GridCollision
from accountants.joint_release import JointRelease, average_delta
from accountants.paper_total import PaperCalibration, PaperTerms, PaperTotal
from accountants.sample_threshold import SampleThreshold, SampleThresholdPaper
from accountants.tight_total import TightTotal
from accountants.worst_case import ExplicitDataset, strongest_dataset

__all__ = [
    "LATTICE_STEP",
    "AnalyticGaussian",
    "DpauditError",
    "ExplicitDataset",
    "FreE2TParameters",
    "GridCollision",
    "JointRelease",
    "PaperCalibration",
    "PaperTerms",
    "PaperTotal",
    "ParameterError",
    "SampleThreshold",
    "SampleThresholdPaper",
    "TightTotal",
    "average_delta",
    "strongest_dataset",
    "tight_noise_std",
]
