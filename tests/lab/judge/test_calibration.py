"""How often verdicts err: thousands of studies in which the truth sits on the margin, with noise of
every shape, and studies with planted effects.
"""

import numpy as np
import pytest
from scipy import stats

from headcount.lab.judge.statistics import Looks, Region, power, t_interval

STUDIES = 4000
ALPHA = 0.05
# A true rate of exactly 5% stays below this in 99.9% of runs; the seed is fixed.
CEILING = float(stats.binom.ppf(0.999, STUDIES, ALPHA)) / STUDIES
MARGIN = 0.3
FAMILY = 16

# Noise of an effect with median 0, skewed and heavy-tailed both ways.
NOISE = {
    "normal": lambda rng, shape: rng.normal(0, 0.3, shape),
    "log-normal": lambda rng, shape: rng.lognormal(0, 1, shape) - 1,
    "log-normal, mirrored": lambda rng, shape: 1 - rng.lognormal(0, 1, shape),
    "Student, 2 degrees of freedom": lambda rng, shape: 0.3 * rng.standard_t(2, shape),
    "Cauchy": lambda rng, shape: 0.3 * rng.standard_cauchy(shape),
    "one in ten diverges": lambda rng, shape: np.where(
        rng.random(shape) < 0.1, np.sign(rng.normal(size=shape)) * np.inf, rng.normal(size=shape)
    ),
}
# At the margin, which of support and refutation is false: both.
REGIONS = {
    "benefit": (Region(low=MARGIN), Region(high=MARGIN), MARGIN),
    "no benefit": (Region(high=MARGIN), Region(low=MARGIN), MARGIN),
    "threshold": (Region(low=0.0), Region(high=0.0), 0.0),
    "equivalence, upper end": (Region(-MARGIN, MARGIN), Region(low=MARGIN), MARGIN),
    "equivalence, lower end": (Region(-MARGIN, MARGIN), Region(high=-MARGIN), -MARGIN),
}


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("kind", REGIONS)
def test_false_support_and_false_refutation_on_the_margin(kind, noise):
    support, refute, truth = REGIONS[kind]
    rng = np.random.default_rng(abs(hash_of(kind + noise)))
    effects = truth + NOISE[noise](rng, (STUDIES, 40))
    assert (support.p(effects, Looks()) <= ALPHA).mean() <= CEILING
    assert (refute.p(effects, Looks()) <= ALPHA).mean() <= CEILING


def hash_of(text: str) -> int:
    """The same in every process."""
    return int.from_bytes(text.encode()[:8].ljust(8), "little") % 2**32 + len(text)


def test_a_t_interval_would_err_more_often_on_skewed_noise():
    """Why it does not decide: the median at the margin, log-normal noise, 10 seeds."""
    rng = np.random.default_rng(3)
    effects = MARGIN - (rng.lognormal(0, 1, (STUDIES, 10)) - np.exp(0.5))  # mean at the margin
    low = np.array([t_interval(each).low for each in effects])
    assert (low > MARGIN).mean() > 2 * ALPHA


@pytest.mark.parametrize("noise", NOISE)
def test_a_family_of_nulls_errs_in_one_of_twenty(noise):
    """Sixteen claims, all on the margin: how often is any of them supported, or any refuted?"""
    rng = np.random.default_rng(11)
    studies = 2000
    effects = MARGIN + NOISE[noise](rng, (studies, FAMILY, 40))
    ceiling = float(stats.binom.ppf(0.999, studies, ALPHA)) / studies
    for region in (Region(low=MARGIN), Region(high=MARGIN)):
        p = region.p(effects, Looks())  # [studies, FAMILY]
        assert (FAMILY * p.min(axis=1) <= ALPHA).mean() <= ceiling


MEASURED = {
    "normal, 10 seeds": (10, lambda rng, size: rng.normal(0, 0.3, size)),
    "normal, 40 seeds": (40, lambda rng, size: rng.normal(0, 0.4, size)),
    "log-normal, 20 seeds": (20, lambda rng, size: 0.4 * rng.lognormal(0, 1, size)),
    "Student, 40 seeds": (40, lambda rng, size: 0.3 * rng.standard_t(2, size)),
}


@pytest.mark.parametrize("registered", [0.45, 0.6])
@pytest.mark.parametrize("measured", MEASURED)
def test_planted_effects_are_found_with_the_printed_power(measured, registered):
    """Studies drawn anew with the spread that was measured, seeds and all, and the registered
    median find the effect as often as the power says, within three points.
    """
    count, draw = MEASURED[measured]
    rng = np.random.default_rng(7)
    effects = draw(rng, (1, count))
    region, looks, level = Region(low=MARGIN), Looks(), ALPHA / FAMILY
    printed = power(effects, [registered], [region], looks, level)
    residuals = effects[0] - np.median(effects)
    width = 0.9 * count**-0.2  # the smoothing that its docstring names
    drawn = rng.choice(residuals, (STUDIES, 40)) + width * residuals.std() * rng.standard_normal(
        (STUDIES, 40)
    )
    drawn /= np.sqrt(1 + width**2)
    drawn -= np.median(drawn)
    found = (region.p(registered + drawn, looks) <= level).mean()
    assert printed == pytest.approx(found, abs=0.03)


def test_the_printed_power_is_that_of_the_true_noise_when_many_seeds_are_measured():
    rng = np.random.default_rng(9)
    region, looks, level = Region(low=MARGIN), Looks(), ALPHA / FAMILY
    for sd, registered in ((0.2, 0.6), (0.4, 0.6), (0.3, 0.5)):
        found = (region.p(registered + rng.normal(0, sd, (STUDIES, 40)), looks) <= level).mean()
        printed = power(rng.normal(0, sd, (1, 20_000)), [registered], [region], looks, level)
        assert printed == pytest.approx(found, abs=0.03)
