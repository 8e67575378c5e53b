"""Results as the library returns them, with plausible numbers, for tests of what shows them."""

import copy
from math import inf
from typing import Any

HOSTILE = (
    '<script>alert("x")</script> & <b>bold</b> | pipe `tick` *star* _under_ [link](http://a.b) '
    "\u202eright-to-left\u202c \x1b[31mred\x07 \u200bzero www.a.b \U0001f600 \ue000"
)

_ASSUMPTIONS = [
    "Adjacency is add-remove of one record; the view is public (the released counts and noisy "
    "sums, with the projection and grid offset).",
    "The number of records does not exceed records_max.",
    "Each record is sampled with its own honest coin, independent of everything else.",
]
_PAPER_TERMS = {
    "epsilon_fre": 1.42669977575493,
    "delta_fre": 2.9262241033490687e-10,
    "delta_sens": 8.945235178993187e-11,
    "delta_sens_union": 2.0914706626392476e-07,
    "kappa": 0.002338083483317259,
    "coupling_distance": 1.2,
    "noise_multiplier": 1.78,
    "epsilon_agg": 2.57330022424507,
    "delta_agg": 9.99617925237875e-07,
}
_MISSING_UNION = {
    "code": "missing-union",
    "message": "the paper's collision term 8.95e-11 is that of one pair; over 1000000 records it "
    "is 2.09e-07 (claimed delta: 1e-06), so the paper's total is not a bound",
}


def verified(name: str = "paper-eps4") -> dict[str, Any]:
    """Return what ``verify`` gives for a claim that is proved."""
    return {
        "dpaudit": "0.1.0",
        "command": "verify",
        "deployment": {"name": name, "system": "fre-e2t"},
        "claim": {"epsilon": 4.0, "delta": 1e-6, "adjacency": "add-remove", "view": "public"},
        "paper": {
            "epsilon": 3.9894376885360345,
            "delta": 9.15794800730065e-07,
            "terms": dict(_PAPER_TERMS),
            "is_bound": False,
            "source": "Fre-E2T, Lemmas 1 and 2 and Algorithm 3, as stated in the paper",
        },
        "tight": {
            "epsilon": 0.641045237796737,
            "delta": 2.0673643998228325e-16,
            "noise_std": 2.136,
            "noise_std_for_claim": 0.4365319621761763,
            "terms": {
                "near_delta": 2.0589117327293779e-16,
                "far_delta": 8.452667093421669e-19,
                "split_distance": 1.137890137092232,
                "lattice_step": 5.960464477539063e-08,
            },
            "source": "Theorem J with the u-free collision term at records_max (docs/proofs)",
        },
        "verdict": "proved",
        "warnings": [dict(_MISSING_UNION)],
        "assumptions": list(_ASSUMPTIONS),
        "exit_code": 0,
    }


def calibrated() -> dict[str, Any]:
    """Return what ``calibrate`` gives, with one sampling rate that the paper cannot do."""
    rows = [
        (0.1, 10, None, None),
        (0.15, 15, None, 0.2846200485256511),
        (0.3, 30, 0.936, 0.31394790680744283),
        (0.5, 50, 1.14, 0.33935091808607254),
    ]
    keys = ("sampling_rate", "threshold", "paper_noise_std", "tight_noise_std")
    return {
        "dpaudit": "0.1.0",
        "command": "calibrate",
        "deployment": {"name": "paper-eps8", "system": "fre-e2t"},
        "target": {"epsilon": 8.0, "delta": 1e-6},
        "paper": {
            "noise_std": 1.14,
            "noise_multiplier": 0.95,
            "noise_multiplier_exact": 0.9425875825038261,
            "feasible": True,
        },
        "tight": {"noise_std": 0.33935091808607254, "feasible": True},
        "sweep": [dict(zip(keys, row, strict=True)) for row in rows],
        "verdict": "feasible",
        "warnings": [],
        "assumptions": list(_ASSUMPTIONS),
        "exit_code": 0,
    }


def infeasible() -> dict[str, Any]:
    """Return what ``calibrate`` gives where no noise suffices and the paper says nothing."""
    return {
        **calibrated(),
        "paper": None,
        "tight": {"noise_std": None, "feasible": False},
        "verdict": "infeasible",
        "warnings": [{"code": "no-noise-suffices", "message": "the sampled counts alone miss it"}],
        "exit_code": 3,
    }


# epsilon, measured given the collision, Theorem J, measured total, tight total
_BROKEN_CURVE = [
    (0.0, 0.2237, 0.2283, 0.02181, 0.2628),
    (1.0, 0.1613, 0.1646, 0.01572, 0.1915),
    (2.0, 0.1144, 0.1169, 0.01115, 0.1261),
    (3.0, 0.07525, 0.07741, 0.007335, 0.06643),
    (4.0, 0.0442, 0.04677, 0.004308, 0.01793),
    (5.0, 0.02051, 0.02547, 0.001999, 0.005379),
    (6.0, 3.76e-05, 0.01239, 3.664e-06, 0.001748),
    (7.0, 0.0, 0.00535, 0.0, 0.0006087),
    (8.0, 0.0, 0.002042, 0.0, 0.0002258),
    (10.0, 0.0, 0.0002027, 0.0, 3.677e-05),
    (12.0, 0.0, 1.188e-05, 0.0, 7.3e-06),
    (14.0, 0.0, 4.062e-07, 0.0, 1.716e-06),
    (16.0, 0.0, 8.027e-09, 0.0, 4.659e-07),
]
_BUNDLED_CURVE = [
    (0.0, 0.06279, 0.0641, 1.011e-08, 0.03957),
    (0.1, 0.03646, 0.03724, 5.87e-09, 0.01073),
    (0.2, 0.02035, 0.02081, 3.277e-09, 0.002246),
    (0.3, 0.01101, 0.01128, 1.773e-09, 0.0004064),
    (0.4, 0.005797, 0.005961, 9.334e-10, 6.906e-05),
    (0.5, 0.00297, 0.003081, 4.782e-10, 1.165e-05),
    (0.6, 0.001474, 0.00156, 2.373e-10, 2.021e-06),
    (0.8, 0.0003025, 0.0003768, 4.871e-11, 7.185e-08),
    (1.0, 1.069e-06, 8.43e-05, 1.721e-13, 3.396e-09),
    (1.5, 0.0, 1.414e-06, 0.0, 6.453e-12),
    (2.0, 0.0, 1.406e-08, 0.0, 7.639e-14),
    (4.0, 0.0, 3.498e-19, 0.0, 2.067e-16),
]


def _estimate(
    delta: float,
    epsilon: float,
    theorem_j: float | None = None,
    *,
    key: str = "theorem_j_epsilon",
) -> dict[str, Any]:
    reference = {} if theorem_j is None else {key: theorem_j}
    return reference | {
        "delta": delta,
        "epsilon": epsilon,
        "direction": "add",
        "threshold": 3.218,
        "tpr_lower": 0.0621,
        "fpr_upper": 0.000198,
        "true_positives": 6432,
        "false_positives": 6,
    }


def _audited(verdict: str, exit_code: int, curve: list[tuple[float, ...]]) -> dict[str, Any]:
    result = verified("bundled")
    result |= {"command": "audit", "verdict": verdict, "exit_code": exit_code}
    result["fre_e2t"] = {
        "records_max": 1_000_000,
        "embedding_dim": 384,
        "projection_dim": 20,
        "radius": 0.5,
        "grid_edge": 0.22360679774997896,
        "sampling_rate": 0.3,
        "threshold": 30,
        "noise_std": 2.136,
        "sensitivity_ratio": 2.4,
        "budget_factor": 4.0,
        "projection_seed": None,
    }
    result["data"] = {
        "source": "chatterbot-corpus 1.3.3",
        "licence": "BSD (package metadata)",
        "skipped_blank": 3,
        "texts": 748,
        "distinct": 748,
        "records": 100_000,
        "simulated_population": True,
        "zipf": 1.0,
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    }
    result["model"] = {
        "embedding": "minilm",
        "dimension": 384,
        "device": "cpu",
        "normalised": True,
        "sha256": "2a09b035ab7b45f633faa959bcb6cb5b97e63d92bb65ed643926cc15e3c747e0",
    }
    result["pipeline"] = {
        "projection_seed": 7,
        "buckets": 742,
        "released_buckets": 141,
        "released_records_share": 0.23186,
        "bucket_sizes": [
            {"size_from": 1, "size_to": 1, "buckets": 4},
            {"size_from": 2, "size_to": 3, "buckets": 0},
            {"size_from": 4, "size_to": 7, "buckets": 1},
            {"size_from": 8, "size_to": 15, "buckets": 12},
            {"size_from": 16, "size_to": 31, "buckets": 268},
            {"size_from": 32, "size_to": 63, "buckets": 229},
            {"size_from": 64, "size_to": 127, "buckets": 113},
            {"size_from": 128, "size_to": 255, "buckets": 58},
            {"size_from": 256, "size_to": 1023, "buckets": 44},
            {"size_from": 1024, "size_to": 16383, "buckets": 13},
        ],
        "experiment": True,
        "noise": "exact-rounded-gaussian",
        "lattice_step": 5.960464477539063e-08,
    }
    result["measured"] = {
        "epsilon": 0.0,
        "delta": 0.0,
        "confidence": 0.99,
        "error_split": {
            "verdict: worst-case canary, claimed delta, true positives": 0.005,
            "verdict: worst-case canary, claimed delta, false positives": 0.005,
            "choice of direction and threshold (made on other trials)": 0.0,
        },
        "violation_error": 1e-6,
        "tables_note": "The verdict's bounds hold together at the stated confidence; each table "
        "row and curve point holds on its own at that confidence.",
        "trial_noise": "float-gaussian",
        "seed": 7,
        "trials_per_side": 100_000,
        "bounding_trials_per_side": 50_000,
        "worst_case": {
            "distance": 1.2,
            "neighbours": 110,
            "clusters": 1800,
            "collision_probability": 1.6101423322188138e-07,
            "predicted_epsilon": 0.0,
            "predicted_delta": 0.0,
            "direction": "add",
            "threshold": 3.218,
            "true_positives": 6432,
            "false_positives": 6,
            "tpr_lower": 0.1242,
            "fpr_upper": 0.000358,
            "conditional": {
                "estimates": [
                    _estimate(0.1, 0.0, 0.0),
                    _estimate(1e-2, 0.3011, 0.3192),
                    _estimate(1e-3, 0.5907, 0.6638),
                    _estimate(1e-6, 0.7842, 1.54),
                ],
                "delta_curve": [
                    {"epsilon": e, "delta_lower": low, "theorem_j": j} for e, low, j, _, _ in curve
                ],
            },
            "total": {
                "estimates": [_estimate(d, 0.0) for d in (0.1, 1e-2, 1e-3, 1e-6)],
                "delta_curve": [
                    {"epsilon": e, "delta_lower": low, "tight_upper": high}
                    for e, _, _, low, high in curve
                ],
            },
            "trials_needed": None,
            "note": "",
        },
        "in_distribution": {
            "text": "What is your favourite book?",
            "bucket_members": 411,
            "bucket_texts": 3,
            "trials_per_side": 100_000,
            "bounding_trials_per_side": 50_000,
            "conditional": True,
            "estimates": [
                _estimate(1e-2, 0.0313, 0.052, key="average_j_epsilon"),
                _estimate(1e-6, 0.1071, 0.388, key="average_j_epsilon"),
            ],
            "delta_curve": [
                {"epsilon": 0.0, "delta_lower": 0.0094, "average_j": 0.0161},
                {"epsilon": 0.1, "delta_lower": 0.0012, "average_j": 0.0022},
                {"epsilon": 0.2, "delta_lower": 0.0, "average_j": 0.0003},
            ],
            "note": "One projection, one record: a conditional figure, not part of the verdict.",
        },
        "collision": [
            {"distance": 0.25, "place": "beside a text", "expected": 0.8005, "observed": 0.801,
             "coordinates": 8000, "p_value": 0.93},
            {"distance": 1.2, "place": "far outside the texts", "expected": 0.3145,
             "observed": 0.3139, "coordinates": 8000, "p_value": 0.44},
        ],
        "diagnostics": [
            {"distance": 4.27, "neighbours": 130, "trials_per_side": 20000,
             "place": "near, heavy bucket"},
        ],
    }  # fmt: skip
    result["findings"] = []
    return result


def proved() -> dict[str, Any]:
    """Return an audit whose claim is proved and whose attack shows nothing."""
    return _audited("proved", 0, _BUNDLED_CURVE)


def refuted() -> dict[str, Any]:
    """Return an audit of noise ten times too small."""
    result = _audited("refuted", 1, _BROKEN_CURVE)
    result["deployment"]["name"] = "broken"
    result["fre_e2t"]["noise_std"] = 0.2136
    result["paper"] |= {"epsilon": 43.18993771634042, "delta": 0.9835135822828847}
    result["tight"] |= {
        "epsilon": 14.804151533506118,
        "delta": 0.01792627454736733,
        "noise_std": 0.2136,
        "noise_std_for_claim": 0.488752773650407,
    }
    result["measured"] |= {"epsilon": 5.9321, "delta": 0.004308}
    worst = result["measured"]["worst_case"]
    worst |= {
        "distance": 0.56,
        "neighbours": 120,
        "clusters": 8333,
        "collision_probability": 0.0974,
    }
    worst["conditional"]["estimates"] = [
        _estimate(0.1, 2.2913, 2.403),
        _estimate(1e-2, 5.4873, 6.269),
        _estimate(1e-3, 5.8412, 8.668),
        _estimate(1e-6, 5.9329, 13.5),
    ]
    worst["total"]["estimates"] = [
        _estimate(0.1, 0.0),
        _estimate(1e-2, 2.2871),
        _estimate(1e-3, 5.4213),
        _estimate(1e-6, 5.9321),
    ]
    return result


def undecided() -> dict[str, Any]:
    """Return an audit that neither proves nor refutes, with nothing in distribution."""
    result = _audited("open", 3, _BROKEN_CURVE)
    result["deployment"]["name"] = "undecided"
    result["claim"]["epsilon"] = 8.0
    result["paper"] = {"epsilon": None, "delta": None, "terms": {}, "source": "not given"}
    result["tight"] |= {"epsilon": 14.804151533506118, "delta": 0.0002258}
    result["measured"] |= {"epsilon": 5.9321, "delta": 0.0, "in_distribution": None}
    result["measured"]["worst_case"] |= {
        "trials_needed": 14_000_000,
        "note": "The best attack counts records; it needs more trials than were run.",
    }
    return result


def violated() -> dict[str, Any]:
    """Return an audit that beat the proved bound."""
    result = refuted()
    result["deployment"]["name"] = "violated"
    result["tight"] |= {"epsilon": 0.641045237796737, "delta": 2.067e-16}
    result["verdict"] = "proved"
    result["findings"] = [
        {
            "code": "implementation-violates-analysis",
            "message": "The measured epsilon 5.932 exceeds the proved bound 0.641.",
            "error_probability": 1e-6,
        }
    ]
    return result


def unbounded() -> dict[str, Any]:
    """Return a verification where nothing is finite."""
    result = verified("unbounded")
    result["paper"] |= {"epsilon": inf, "delta": None}
    result["paper"]["terms"] |= {"epsilon_agg": None, "delta_agg": None}
    result["tight"] |= {"epsilon": inf, "delta": 1.0, "noise_std_for_claim": None}
    result |= {"verdict": "open", "exit_code": 3}
    result["warnings"] += [
        {"code": "delta-not-summing", "message": "delta_fre + delta_sens leaves nothing of delta"},
        {"code": "no-noise-suffices", "message": "the sampled counts alone miss the claim"},
    ]
    return result


def hostile() -> dict[str, Any]:
    """Return an audit with hostile text wherever text comes from outside."""
    result = copy.deepcopy(refuted())
    result["deployment"]["name"] = HOSTILE
    result["data"]["source"] = HOSTILE
    result["model"]["embedding"] = HOSTILE
    result["measured"]["in_distribution"]["text"] = HOSTILE * 40
    result["warnings"].append({"code": HOSTILE, "message": HOSTILE})
    result["findings"] = [
        {"code": HOSTILE, "message": HOSTILE, "error_probability": 1e-6},
    ]
    return result


AUDITS = {
    "proved": proved,
    "refuted": refuted,
    "open": undecided,
    "violated": violated,
    "hostile": hostile,
}
RESULTS = {**AUDITS, "verified": verified, "unbounded": unbounded}
