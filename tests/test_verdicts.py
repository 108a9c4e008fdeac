"""From margins to verdicts: planted truths, hand computations, and how often a report is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import theorysim as ts
from theorysim import _verdicts
from theorysim._verdicts import ALPHA, Evidence, verdicts, weigh


def claim(regime=None):
    return ts.Claim("c", "the margin is positive", "by hand", "s", lambda data: data.margin, regime=regime)


def evidence(margins, regime=None, dims=("seed",), coords=None):
    """What is found for margins of shape `(seeds,)`, or with parts after the seeds."""
    data = xr.Dataset({"margin": (dims, np.asarray(margins, float))}, coords or {})
    return weigh(claim(regime), data)


def parted(margins):
    return evidence(margins, dims=("seed", "part"))


def verdict(margins, **more):
    return verdicts([evidence(margins, **more)])[0]


def normal(mean, seeds=30, deviation=1.0, rng_seed=0):
    """Normal margins whose sample mean and deviation are as asked, to rounding."""
    draw = np.random.default_rng(rng_seed).normal(size=seeds)
    return mean + deviation * (draw - draw.mean()) / draw.std(ddof=1)


def weighed(p_holds, p_fails=1.0, outside=""):
    return Evidence(0.0, 0.0, 0.0, "", p_holds, p_fails, 10, 0, outside)


@pytest.mark.parametrize(("mean", "expected"), [(2, "holds"), (-2, "fails"), (0, "undecided"), (0.1, "undecided")])
def test_planted_margins(mean, expected):
    assert verdict(normal(mean)) == expected


@pytest.mark.parametrize(("value", "expected"), [(0.5, "holds"), (-0.5, "fails"), (0.0, "undecided"), (1e-300, "holds")])
def test_constant_margins(value, expected):
    found = evidence([value] * 12)
    assert verdicts([found]) == [expected]
    assert (found.mean, found.low, found.high, found.needed) == (value, value, value, 0)


def test_evidence_is_student_s_test():
    margins = normal(0.4, seeds=25)
    found, scipy = evidence(margins), stats.ttest_1samp(margins, 0, alternative="greater")
    interval = scipy.confidence_interval(1 - ALPHA / 2)  # one-sided: the lower end of the two-sided one
    assert found.p_holds == pytest.approx(scipy.pvalue, rel=1e-9)
    assert found.p_fails == pytest.approx(1 - scipy.pvalue, rel=1e-9)
    assert found.mean == pytest.approx(0.4, rel=1e-12)
    assert found.low == pytest.approx(interval.low, rel=1e-9)
    assert found.high == pytest.approx(2 * found.mean - interval.low, rel=1e-9)
    assert found.seeds == 25


@pytest.mark.parametrize("seeds", [2, 5, 10, 11, 12, 40])
def test_no_p_value_is_below_that_of_the_sign_test(seeds):
    found = evidence([1.0] * seeds)
    assert found.p_holds == 0.5**seeds
    assert found.p_fails == 1
    # eleven equal signs are the fewest that decide one claim: 2 * 2^-11 <= 0.001 < 2 * 2^-10
    assert verdicts([found]) == ["holds" if seeds >= 11 else "undecided"]
    assert evidence([-1.0] * seeds).p_fails == 0.5**seeds
    assert evidence(1 + 1e-9 * np.arange(seeds)).p_holds == 0.5**seeds


def test_one_seed_decides_nothing():
    found = evidence([7.0])
    assert verdicts([found]) == ["undecided"]
    assert (found.mean, found.low, found.high, found.seeds) == (7.0, -math.inf, math.inf, 1)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_margin_that_is_no_number_decides_nothing(value):
    found = evidence([*normal(5.0), value])
    assert verdicts([found]) == ["undecided"]
    assert found.part == "a margin is not a number"
    assert (found.p_holds, found.p_fails) == (1.0, 1.0)


def test_all_parts_must_hold():
    good, bad, weak = normal(3.0), normal(-3.0, rng_seed=1), normal(0.2, rng_seed=2)
    assert verdicts([parted(np.stack([good, good + 1], 1))]) == ["holds"]
    assert verdicts([parted(np.stack([good, bad, good], 1))]) == ["fails"]
    assert verdicts([parted(np.stack([good, weak], 1))]) == ["undecided"]


def test_parts_are_corrected_where_any_of_them_decides():
    parts = np.stack([normal(mean, rng_seed=k) for k, mean in enumerate((0.9, -0.5, 2.0, 0.4))], 1)
    found, one = parted(parts), [evidence(part) for part in parts.T]
    assert found.p_holds == pytest.approx(max(e.p_holds for e in one), rel=1e-12)  # intersection-union: the largest
    assert found.p_fails == pytest.approx(4 * min(e.p_fails for e in one), rel=1e-12)  # Bonferroni: the smallest, times 4
    assert parted(np.ones((20, 3))).p_fails == 1.0
    assert parted(-np.ones((20, 3))).p_fails == 3 * 0.5**20


def test_a_part_at_its_edge_hides_no_other():
    edge, good, bad = np.zeros(20), normal(3.0, 20), normal(-3.0, 20)
    assert verdicts([parted(np.stack([good, edge], 1))]) == ["undecided"]
    assert verdicts([parted(np.stack([edge, bad], 1))]) == ["fails"]
    assert verdicts([parted(np.stack([bad, edge], 1))]) == ["fails"]


def test_the_weakest_part_is_named():
    margins = np.full((20, 2, 3), 1.0) + 0.01 * np.random.default_rng(0).normal(size=(20, 2, 3))
    margins[:, 1, 2] -= 0.9
    coords = {"signal": [4.0, 6.5], "side": ["above", "below", "beside"]}
    found = evidence(margins, dims=("seed", "signal", "side"), coords=coords)
    assert found.part == "signal=6.5, beside"
    assert found.mean == pytest.approx(margins[:, 1, 2].mean())
    moved = evidence(np.moveaxis(margins, 0, 1), dims=("signal", "seed", "side"), coords=coords)
    assert moved == found
    assert parted(margins[:, 1]).part == "part=2"  # an axis without coordinates: its index


def test_outside_the_regime_nothing_applies():
    def regime(data):
        return {"d >= n": 3.0, "n SNR^2 >= 1": -0.25, "flips": math.nan, "at the edge": 0.0}

    found = evidence([1.0] * 20, regime)
    assert found.outside == "n SNR^2 >= 1 fails by 0.25; flips fails by nan"
    assert verdicts([found, evidence([1.0] * 20)]) == ["not applicable", "holds"]
    assert evidence([1.0] * 20, lambda data: {"d >= n": 0.0}).outside == ""


def test_holm_by_hand():
    # two-sided p-values 0.0002, 0.0003, 0.0004, 0.0006 against 0.001/4 = 0.00025, 0.001/3 = 0.000333, 0.0005, 0.001
    p = [0.0003, 0.0001, 0.0002, 0.00015]
    assert verdicts([weighed(value) for value in p]) == ["holds"] * 4
    # the smallest is above 0.001/4, so nothing is decided, although each of the others is below 0.001
    assert verdicts([weighed(value) for value in (0.0003, 0.00013, 0.0002, 0.00015)]) == ["undecided"] * 4
    # decided: 0.0002 <= 0.00025; stopped: 0.0004 > 0.000333; after it nothing
    assert verdicts([weighed(0.0002), weighed(1.0, 0.0001), weighed(0.0002), weighed(0.5)]) == [
        "undecided", "fails", "undecided", "undecided",
    ]  # fmt: skip
    # a claim that does not apply takes no part: 0.00016 <= 0.001/3
    apart = [weighed(0.00016), weighed(1e-9, outside="d >= n fails by 1"), weighed(0.4), weighed(0.4)]
    assert verdicts(apart)[:2] == ["holds", "not applicable"]
    assert verdicts([replace(e, outside="") for e in apart[::2]] + [weighed(0.4)] * 3)[0] == "undecided"
    assert verdicts([]) == []


@pytest.mark.parametrize(("mean", "deviation", "count"), [(0.5, 1.0, 20), (-0.3, 1.0, 30), (0.02, 0.1, 40), (1.0, 1.0, 3)])
def test_seeds_needed(mean, deviation, count):
    needed = evidence(normal(mean, count, deviation)).needed
    normal_theory = (stats.norm.isf(ALPHA / 2) * deviation / mean) ** 2
    assert needed > count
    assert normal_theory <= needed <= 1.1 * normal_theory + 15  # Student's t needs some more, and steps are of a tenth
    enough, fewer = normal(mean, needed, deviation), normal(mean, int(0.8 * needed), deviation)
    assert verdict(enough) == ("holds" if mean > 0 else "fails")
    assert verdict(fewer) == "undecided"


def test_no_seeds_are_asked_for_where_none_would_help():
    assert evidence(normal(3.0)).needed == 0  # decided
    assert evidence(np.tile([1.0, -1.0], 10)).needed == 0  # mean 0
    assert evidence(normal(1e-9)).needed == 0  # more than 10^7


# --- how often a report is wrong ---------------------------------------------------------------------------------------

REPORTS, CLAIMS, SEEDS = 12_000, 8, 20


def wrong_reports(decide, parts=1, seed=3):
    """Reports of which any verdict is wrong, out of `REPORTS`; every claim is at its edge: true mean margins are 0.

    Neither `holds` nor `fails` is true there, so at most a share `ALPHA` of reports may give one.
    """
    rng, wrong = np.random.default_rng(seed), 0
    draws = rng.normal(size=(REPORTS, CLAIMS, SEEDS, parts))
    mean, error = draws.mean(2), draws.std(2, ddof=1) / math.sqrt(SEEDS)
    p = stats.t.sf(mean / error, SEEDS - 1)
    # most reports have no p-value under the level at all, and no way of deciding makes a verdict of those
    for report in np.flatnonzero(np.minimum(p, 1 - p).min((1, 2)) <= ALPHA):
        found = [weigh(claim(), xr.Dataset({"margin": (("seed", "part"), margins)})) for margins in draws[report]]
        wrong += any(word in ("holds", "fails") for word in decide(found))
    return wrong


def limit(level=1e-6):
    """The most wrong reports that a rate of `ALPHA` explains; a right program exceeds it with probability 1e-6."""
    return stats.binom.isf(level, REPORTS, ALPHA)


@pytest.fixture(scope="module", params=[1, 3])
def parts(request):
    return request.param


def test_a_report_is_wrong_at_most_at_its_level(parts):
    wrong = wrong_reports(verdicts, parts)
    assert wrong <= limit()
    if parts == 1:  # and the level is used: with 12 expected, fewer than 2 would have probability 8e-5
        assert wrong >= 2


def one_sided(found):
    """A planted defect: the smaller of two one-sided p-values is taken as it is, without a factor 2 or Holm."""
    return ["holds" if min(e.p_holds, e.p_fails) <= ALPHA else "undecided" for e in found]


def test_a_report_without_correction_is_caught():
    assert wrong_reports(one_sided) > limit()


def test_swapped_tails_are_caught():
    def swapped(found):
        return verdicts([replace(e, p_holds=e.p_fails, p_fails=e.p_holds) for e in found])

    assert swapped([evidence(normal(2.0)), evidence(normal(-2.0))]) == ["fails", "holds"]
    assert verdicts([evidence(normal(2.0)), evidence(normal(-2.0))]) == ["holds", "fails"]


def test_a_missing_floor_is_caught(monkeypatch):
    """Margins that agree to the last digit have no spread: without the floor a few of them decide anything."""
    margins = np.full(5, 0.01)
    assert verdict(margins) == "undecided"
    monkeypatch.setattr(_verdicts, "max", lambda floor, p: p, raising=False)
    assert verdict(margins) == "holds"
