"""Upper bounds: what a deployment guarantees. numpy, scipy and mpmath only; never torch.

Names are loaded on first use, so that those who need one accountant do not wait for all of them
(and for dp-accounting, which only a few use). No name here is a submodule's: importing that would
hide it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accountants.calibration import tight_noise_std
    from accountants.composition import compose_sequentially, compose_sum
    from accountants.discrete_closeness import CloseProfile, DirectDistributedGaussian
    from accountants.distributed_gaussian import DistributedGaussian
    from accountants.distributed_total import DistributedNoise, DistributedTotal
    from accountants.double_geometric import TruncatedDoubleGeometric, smallest_shift
    from accountants.dp_events import GuaranteeAccountant, ProfileDpEvent
    from accountants.dp_sgd import DpSgd
    from accountants.dummy_tags import DummyTags, calibrate_dummies
    from accountants.errors import DpauditError, MismatchError, ParameterError
    from accountants.federated_text import FederatedClient, FederatedText
    from accountants.fre_e2t import LATTICE_STEP, FreE2TParameters
    from accountants.gaussian import AnalyticGaussian
    from accountants.grid_collision import GridCollision
    from accountants.group_privacy import GroupProfile
    from accountants.group_release import GroupRelease, SampleThresholdGroupPaper
    from accountants.group_total import GroupTotal
    from accountants.guarantee import Adjacency, Guarantee, View, best_of, in_parallel
    from accountants.joint_release import JointRelease, average_delta
    from accountants.loss_distribution import LossDistribution
    from accountants.modular_sum import ModularSum
    from accountants.noisy_votes import NoisyProfile, NoisyVotes
    from accountants.odometer import Odometer
    from accountants.opendp_profile import to_opendp
    from accountants.paper_total import PaperCalibration, PaperTerms, PaperTotal
    from accountants.profile import PrivacyProfile
    from accountants.sample_threshold import SampleThreshold, SampleThresholdPaper
    from accountants.semantic_support import SemanticSupport
    from accountants.server_views import public_view, synthesis_server_view, tagging_server_view
    from accountants.tag_padding import TagPadding
    from accountants.tight_total import TightTotal
    from accountants.trade_off import TradeOff
    from accountants.truncated_laplace import TruncatedLaplace
    from accountants.user_records import group_of
    from accountants.worst_case import ExplicitDataset, strongest_dataset
    from accountants.zcdp import RenyiProfile, ZeroConcentrated

_HOME = {
    "Adjacency": "guarantee",
    "AnalyticGaussian": "gaussian",
    "CloseProfile": "discrete_closeness",
    "DirectDistributedGaussian": "discrete_closeness",
    "DistributedGaussian": "distributed_gaussian",
    "DistributedNoise": "distributed_total",
    "DistributedTotal": "distributed_total",
    "DpSgd": "dp_sgd",
    "DpauditError": "errors",
    "DummyTags": "dummy_tags",
    "ExplicitDataset": "worst_case",
    "FederatedClient": "federated_text",
    "FederatedText": "federated_text",
    "FreE2TParameters": "fre_e2t",
    "GridCollision": "grid_collision",
    "GroupProfile": "group_privacy",
    "GroupRelease": "group_release",
    "GroupTotal": "group_total",
    "Guarantee": "guarantee",
    "GuaranteeAccountant": "dp_events",
    "JointRelease": "joint_release",
    "LATTICE_STEP": "fre_e2t",
    "LossDistribution": "loss_distribution",
    "MismatchError": "errors",
    "ModularSum": "modular_sum",
    "NoisyProfile": "noisy_votes",
    "NoisyVotes": "noisy_votes",
    "Odometer": "odometer",
    "PaperCalibration": "paper_total",
    "PaperTerms": "paper_total",
    "PaperTotal": "paper_total",
    "ParameterError": "errors",
    "PrivacyProfile": "profile",
    "ProfileDpEvent": "dp_events",
    "RenyiProfile": "zcdp",
    "SampleThreshold": "sample_threshold",
    "SampleThresholdGroupPaper": "group_release",
    "SampleThresholdPaper": "sample_threshold",
    "SemanticSupport": "semantic_support",
    "TagPadding": "tag_padding",
    "TightTotal": "tight_total",
    "TradeOff": "trade_off",
    "TruncatedDoubleGeometric": "double_geometric",
    "TruncatedLaplace": "truncated_laplace",
    "View": "guarantee",
    "ZeroConcentrated": "zcdp",
    "average_delta": "joint_release",
    "best_of": "guarantee",
    "calibrate_dummies": "dummy_tags",
    "compose_sequentially": "composition",
    "compose_sum": "composition",
    "group_of": "user_records",
    "in_parallel": "guarantee",
    "public_view": "server_views",
    "smallest_shift": "double_geometric",
    "strongest_dataset": "worst_case",
    "synthesis_server_view": "server_views",
    "tagging_server_view": "server_views",
    "tight_noise_std": "calibration",
    "to_opendp": "opendp_profile",
}

__all__ = [
    "LATTICE_STEP",
    "Adjacency",
    "AnalyticGaussian",
    "CloseProfile",
    "DirectDistributedGaussian",
    "DistributedGaussian",
    "DistributedNoise",
    "DistributedTotal",
    "DpSgd",
    "DpauditError",
    "DummyTags",
    "ExplicitDataset",
    "FederatedClient",
    "FederatedText",
    "FreE2TParameters",
    "GridCollision",
    "GroupProfile",
    "GroupRelease",
    "GroupTotal",
    "Guarantee",
    "GuaranteeAccountant",
    "JointRelease",
    "LossDistribution",
    "MismatchError",
    "ModularSum",
    "NoisyProfile",
    "NoisyVotes",
    "Odometer",
    "PaperCalibration",
    "PaperTerms",
    "PaperTotal",
    "ParameterError",
    "PrivacyProfile",
    "ProfileDpEvent",
    "RenyiProfile",
    "SampleThreshold",
    "SampleThresholdGroupPaper",
    "SampleThresholdPaper",
    "SemanticSupport",
    "TagPadding",
    "TightTotal",
    "TradeOff",
    "TruncatedDoubleGeometric",
    "TruncatedLaplace",
    "View",
    "ZeroConcentrated",
    "average_delta",
    "best_of",
    "calibrate_dummies",
    "compose_sequentially",
    "compose_sum",
    "group_of",
    "in_parallel",
    "public_view",
    "smallest_shift",
    "strongest_dataset",
    "synthesis_server_view",
    "tagging_server_view",
    "tight_noise_std",
    "to_opendp",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
