"""The rows of the page that compares papers with dpaudit: what is stated, and what to evaluate."""

from functools import partial
from typing import Any

from benchmarks import paper_formulas as of
from benchmarks.paper_formulas import CLAIMS, DELTA, RECORDS, TWO, Published
from benchmarks.paper_verdict import Row

Inputs = dict[str, Any]


def count_rows() -> list[Row]:
    """Sample-and-threshold: closed form against the exact divergence."""
    rows = []
    for rate, threshold, factor in ((0.3, 30, 4.0), (0.5, 50, 4.0), (0.6, 60, 3.0), (0.1, 10, 5.0)):
        inputs: Inputs = {"sampling_rate": rate, "threshold": threshold, "budget_factor": factor}
        rows.append(
            Row(
                paper="B&C, Fre-E2T",
                section="Lemma 1",
                quantity=f"delta of the count, p = {rate:g}, tau = {threshold}, v = {factor:g}",
                formula=partial(of.closed_form, **inputs),
                tight=partial(of.exact_count, **inputs),
                why="The closed form is Chernoff's bound; the tight value is exact, the largest "
                "over all bucket sizes.",
            )
        )
    rows.append(
        Row(
            paper="Fre-E2T",
            section="Lemma 1",
            quantity="p <= 0.1 at delta = 1e-6 (tau = 10, v = 5)",
            stated="infeasible",
            formula=partial(of.closed_form, sampling_rate=0.1, threshold=10, budget_factor=5.0),
            tight=partial(of.exact_count, sampling_rate=0.1, threshold=10, budget_factor=5.0),
            impossible=DELTA,
            why="Only the closed form exceeds 1e-6; the mechanism does not.",
        )
    )
    return rows


def calibration_rows(published: Published) -> list[Row]:
    """Algorithm 3 for one claim."""
    multiplier, claim = float(published.multiplier), published.claim
    about: Inputs = {"claim": claim, "published": published}
    at: Inputs = {"multiplier": multiplier, "published": published}
    low = claim == TWO.claim
    noise = f"{1.2 * multiplier:.4g}"
    rows = [
        Row(
            paper="Fre-E2T",
            section="Algorithm 3",
            quantity=f"noise multiplier m, claim {claim:g}",
            stated=published.multiplier,
            formula=partial(of.calibrated_multiplier, **about),
            tight=partial(of.joint_multiplier, **about),
            why="The published m is less than the algorithm gives."
            if low
            else "Count and sum together (Theorem J) cost less than their epsilons added.",
        ),
        Row(
            paper="Fre-E2T",
            section="Algorithm 3",
            quantity=f"total epsilon at m = {published.multiplier}",
            stated=f"{claim:g}",
            claim=claim,
            formula=partial(of.paper_total, **at),
            tight=partial(of.joint_total, **at),
            why="At the published m the paper's sum misses its claim; Theorem J at the same "
            "coupling distance does not."
            if low
            else "The same at the published noise: Theorem J, at the paper's coupling distance.",
        ),
        Row(
            paper="Fre-E2T",
            section="Theorem, N = 1e6",
            quantity=f"total epsilon at m = {published.multiplier}, with the union over records",
            stated=f"{claim:g}",
            claim=claim,
            formula=partial(of.union_total, records_max=RECORDS, published=published),
            tight=partial(of.tight_total, **at),
            why="With the missing union the paper's sum exceeds the claim; the u-free bound needs "
            "no coupling distance at all.",
        ),
        Row(
            paper="Fre-E2T",
            section="Algorithm 3",
            quantity=f"noise sigma, claim {claim:g}",
            stated=noise,
            formula=partial(of.calibrated_noise, **about),
            tight=partial(of.tight_noise, **about),
            why="The tight value is the least sigma for which the u-free bound meets the claim.",
        ),
    ]
    return rows


def grid_rows() -> list[Row]:
    """Lemma 2 and the union that it leaves out."""
    rows = [
        Row(
            paper="Fre-E2T",
            section="Lemma 2",
            quantity="f(2/u)^k at Delta = 2 r",
            stated="8.9e-11",
            formula=partial(of.collision, ratio=2.0),
            why="A misprint: the value belongs to Delta = 2.4 r.",
        ),
        Row(
            paper="Fre-E2T",
            section="Lemma 2",
            quantity="f(2/u)^k at Delta = 2.4 r",
            stated="8.9e-11",
            formula=partial(of.collision, ratio=2.4),
            why="Exact for one pair of points.",
        ),
    ]
    for one in CLAIMS:
        rows += [
            Row(
                paper="Fre-E2T",
                section="Theorem",
                quantity=f"delta_sens = kappa N f^k, p = {one.sampling_rate:g}, N = 1e6",
                stated="8.9e-11",
                formula=partial(of.collision, ratio=2.4),
                tight=partial(of.union, records_max=RECORDS, published=one),
                why="The partner is a random member of the bucket, so all far records count.",
            ),
            Row(
                paper="Fre-E2T",
                section="Theorem",
                quantity=f"the same within delta, p = {one.sampling_rate:g}, N = 1e7",
                stated="1e-6",
                claim=DELTA,
                tight=partial(of.union, records_max=10 * RECORDS, published=one),
                why="At that many records the union alone exceeds delta.",
            ),
        ]
    return rows


def support_rows() -> list[Row]:
    """Semantic support protection at r* = r, t = 100."""
    rows = []
    for one in CLAIMS:
        rows += [
            Row(
                paper="Fre-E2T",
                section="Definitions 2-4",
                quantity=f"delta* of support protection, p = {one.sampling_rate:g}",
                stated="at most 1",
                claim=1.0,
                formula=partial(of.pairs_collide, records=RECORDS, ratio=1.0),
                tight=partial(of.support_bound, records_max=RECORDS, published=one),
                why="Formula: pairs at distance r that share a cell; tight: the best distance. "
                "Nothing is proved at the default edge.",
            ),
            Row(
                paper="Fre-E2T",
                section="Definitions 2-4",
                quantity=f"delta* that is attained, p = {one.sampling_rate:g}",
                tight=partial(of.support_lower, frequency=100, published=one),
                why="t - 1 copies of x* in one bucket: a lower bound.",
            ),
        ]
    return rows


def dummy_rows() -> list[Row]:
    """Return rows on dummy tags and the truncated double geometric shift."""
    rows = [
        Row(
            paper="Nebula, Fre-E2T",
            section="Algorithm 5",
            quantity="expected dummy messages, tau = 20, t = 9",
            stated="1710",
            formula=partial(of.messages, shift=9, threshold=20),
            why="t tau (tau - 1) / 2.",
        ),
        Row(
            paper="Nebula, Fre-E2T",
            section="Definition 5, Eq. 11",
            quantity="delta at epsilon = 2, lambda = 2, one cell (p = 0.2, t = 9)",
            formula=partial(of.dummy_delta, decay=2.0, shift=9, cells=1),
            tight=partial(of.dummy_delta, decay=2.0, shift=9, cells=2),
            why="If lambda is read as per cell: a sampled record changes two cells.",
        ),
        Row(
            paper="Nebula, Fre-E2T",
            section="Definition 5, Eq. 11",
            quantity="the same at lambda = 1.747",
            tight=partial(of.dummy_delta, decay=1.747, shift=9, cells=2),
            why="The lambda that gives epsilon = 2 for both cells.",
        ),
    ]
    for change, epsilon, delta, stated in (
        (1, 0.5, 1e-6, "25"),
        (1, 1.0, 1e-6, "14"),
        (10, 0.1, 1e-8, "183"),
        (1000, 0.01, 1e-8, "2773"),
    ):
        inputs: Inputs = {"sensitivity": change, "epsilon": epsilon, "delta": delta}
        rows.append(
            Row(
                paper="DG",
                section="Eq. 11",
                quantity=f"shift n for a change of {change}, epsilon = {epsilon:g}, "
                f"delta = {delta:g}",
                stated=stated,
                formula=partial(of.unit_shift, **inputs),
                tight=partial(of.claim_shift, **inputs),
                why="For a change of 1 both readings are one."
                if change == 1
                else "The epsilon there is the loss of one unit; the tight value is for epsilon "
                "of the whole change, at decay epsilon/change.",
            )
        )
    return rows


def distributed_rows(published: Published) -> list[Row]:
    """Noise that contributors share, for one claim."""
    at: Inputs = {"multiplier": float(published.multiplier), "published": published}
    claim, noise = published.claim, f"{1.2 * float(published.multiplier):.4g}"
    return [
        Row(
            paper="Fre-E2T, KLS21",
            section="distributed",
            quantity=f"total epsilon by the concentrated bound, sigma = {noise}",
            stated=f"{claim:g}",
            claim=claim,
            formula=partial(of.concentrated, **at),
            tight=partial(of.direct_sum, **at),
            why="sigma was calibrated for one Gaussian; the Rényi route costs more, the discrete "
            "sum bounded directly (g = 2^-16) does not.",
        ),
        Row(
            paper="Fre-E2T, KLS21",
            section="distributed",
            quantity="the same with rho + 2 sqrt(rho ln 1/delta)",
            stated=f"{claim:g}",
            claim=claim,
            formula=partial(of.classic, **at),
            tight=partial(of.distributed_total, **at),
            why="The older conversion; the tight value is the u-free bound with discrete noise, "
            "which grows with the count.",
        ),
        Row(
            paper="Fre-E2T, KLS21",
            section="distributed",
            quantity=f"noise sigma by the concentrated bound, claim {claim:g}",
            stated=noise,
            formula=partial(of.concentrated_noise, claim=claim, published=published),
            why="By that route the published sigma is too small.",
        ),
    ]


def adjacency_rows() -> list[Row]:
    """Return rows on groups, and on records replaced."""
    rows = []
    for records in (2, 5, 10):
        inputs: Inputs = {"records": records, "published": CLAIMS[0]}
        rows += [
            Row(
                paper="Fre-E2T",
                section="Appendix D",
                quantity=f"delta of the count, {records} records of a user, p = 0.3",
                formula=partial(of.group_closed_form, **inputs),
                tight=partial(of.group_exact, **inputs),
                why="Chernoff's bound again; the tight value is exact over all bucket sizes.",
            ),
            Row(
                paper="Fre-E2T",
                section="Appendix D",
                quantity=f"the same by black-box group privacy, {records} records",
                formula=partial(of.group_black_box, **inputs),
                tight=partial(of.group_exact, **inputs),
                why="(e^(m epsilon) - 1)/(e^epsilon - 1) delta, of the closed form for one.",
            ),
        ]
    rows += [
        Row(
            paper="Fre-E2T",
            section="Appendix D",
            quantity="replace-one delta at epsilon = 32 from (16, 1e-6)",
            stated="at most 1",
            formula=partial(of.generic_delta, claim=16.0, delta=DELTA),
            claim=1.0,
            why="(2 epsilon, (1 + e^epsilon) delta) says nothing here.",
        ),
        Row(
            paper="Fre-E2T",
            section="Appendix D",
            quantity="replace-one epsilon at 1e-6 from (16, 1e-6), p = 0.6",
            formula=partial(of.generic, claim=16.0),
            tight=partial(of.replaced, claim=16.0),
            why="The record's own coin costs ln 1/(1-p) only (base: a Gaussian at that point).",
        ),
    ]
    for one in CLAIMS:
        rows.append(
            Row(
                paper="Fre-E2T",
                section="Appendix D",
                quantity=f"replace-one epsilon of the release, m = {one.multiplier}",
                stated=f"{one.claim:g}",
                claim=one.claim,
                tight=partial(of.replaced_total, multiplier=float(one.multiplier), published=one),
                why="The u-free bound and the coin: the claim holds for replacement, too.",
            )
        )
    return rows


def other_rows() -> list[Row]:
    """Federated text generation, and empirical epsilon."""
    rows = [
        Row(
            paper="RAFT",
            section="votes",
            quantity="epsilon of K = 10 votes, noise made for sensitivity 1 at (7, 1e-5)",
            stated="7",
            claim=7.0 * (1 + 1e-9),
            formula=partial(of.votes_claimed, claim=7.0),
            tight=partial(of.votes_true, claim=7.0, nearest=10),
            why="K votes for distinct candidates have L2 sensitivity sqrt(K).",
        ),
        Row(
            paper="RAFT",
            section="weak clients",
            quantity="votes and profile, 7 and 1, delta = 1e-5 in all",
            formula=partial(of.client_sum, votes=7.0, profile=1.0),
            tight=partial(of.client_joint, votes=7.0, profile=1.0),
            why="Two Gaussians compose to one Gaussian; the paper adds their epsilons.",
        ),
        Row(
            paper="TeDA",
            section="ceiling",
            quantity="greatest empirical epsilon, 2 candidates, 1e4 trials, 99%",
            stated="7.54",
            formula=partial(of.ceiling, candidates=2, trials=10**4, tail=0.005),
            why="The tail is that of a two-sided interval, 0.005.",
        ),
        Row(
            paper="TeDA",
            section="ceiling",
            quantity="the same with the one-sided tail 0.01",
            formula=partial(of.ceiling, candidates=2, trials=10**4, tail=0.01),
            why="A lower bound on epsilon needs one side only.",
        ),
    ]
    for candidates, trials in ((4, 10**4), (8, 10**4), (16, 10**4), (2, 10**6)):
        rows.append(
            Row(
                paper="TeDA",
                section="ceiling",
                quantity=f"{candidates} candidates, {trials:.0e} trials, tail 0.005",
                formula=partial(of.ceiling, candidates=candidates, trials=trials, tail=0.005),
                why="More candidates or trials raise what can be seen at all.",
            )
        )
    return rows


def sections() -> dict[str, list[Row]]:
    """Return the rows of the page under their headings."""
    return {
        "Sample-and-threshold": count_rows(),
        "Calibration and total": [r for p in (TWO, *CLAIMS) for r in calibration_rows(p)],
        "Grid collisions": grid_rows(),
        "Semantic support": support_rows(),
        "Dummies": dummy_rows(),
        "Distributed noise": [row for one in CLAIMS for row in distributed_rows(one)],
        "Other adjacencies": adjacency_rows(),
        "Federated generation and empirical epsilon": other_rows(),
    }
