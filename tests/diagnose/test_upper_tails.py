"""The tails as scipy.stats has them."""

import numpy as np
from scipy import stats

from headcount.diagnose import upper_tails


def test_tails_agree_with_scipy_stats():
    z = np.linspace(-8, 40, 97)
    assert np.allclose(upper_tails.normal(z), stats.norm.sf(z), rtol=1e-12)
    assert np.allclose(upper_tails.log_normal(z), stats.norm.logsf(z), rtol=1e-12)
    p = 10.0 ** -np.arange(1, 30)
    assert np.allclose(upper_tails.normal_quantile(p), stats.norm.isf(p), rtol=1e-10)
    for df in (1, 3.5, 80):
        for q in (0.1, 4.0, 90.0):
            assert np.isclose(upper_tails.chi2(q, df), stats.chi2.sf(q, df), rtol=1e-10)
            assert np.isclose(upper_tails.f(q, df, 50), stats.f.sf(q, df, 50), rtol=1e-8)
            shifted = upper_tails.chi2_shifted(q, df, 7.0)
            assert np.isclose(shifted, stats.ncx2.sf(q, df, 7.0), atol=1e-9)
        assert np.isclose(upper_tails.chi2_quantile(1e-6, df), stats.chi2.isf(1e-6, df))
