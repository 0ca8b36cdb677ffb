"""Sketches: near the fit, at once."""

import numpy as np
import pytest

from headcount.core.errors import InputError
from headcount.web.asked import AskBound, AskDraft, AskFit
from headcount.web.views.drafts import bound_view, draft_view
from headcount.web.views.head_views import heads_view


def test_a_sketch_is_near_the_fit():
    sketch = draft_view(AskDraft(kernel="power:1.5", heads=4))
    assert 0.13 < sketch["error"]["l1"] < 0.15  # the best known is 0.132
    drawn = sketch["curves"]
    assert np.allclose(np.sum(drawn["heads"], axis=0), drawn["fit"], atol=1e-4)
    assert len(drawn["heads"]) == 4


@pytest.mark.parametrize("norm", ["l1", "l2", "sup"])
def test_a_drawn_kernel_within_a_budget(norm):
    sketch = draft_view(AskDraft(kernel=[0.0, 1.0, 0.5, -2.0], norm=norm, budget=2.0))
    assert 0 < sketch["error"][norm] <= sketch["kernel_norm"][norm]


def test_lags_beyond_a_window_cost_nothing():
    whole = draft_view(AskDraft(kernel="power:1.5", heads=2))["error"]["l1"]
    few = draft_view(AskDraft(kernel="power:1.5", heads=2, window=8))
    assert few["error"]["l1"] < 0.5 * whole
    assert len(few["curves"]["lags"]) == 8
    bound = bound_view(AskBound(kernel="lag:3", heads=4, budget=100.0, window=16))["lower_bound"]
    assert bound["scope"]["lags"]["stop"] == 16


def test_a_kernel_of_nothing():
    assert draft_view(AskDraft(kernel=[0.0, 0.0]))["error"]["l1"] == 0


def test_a_kernel_that_there_is_none_of():
    with pytest.raises(InputError):
        draft_view(AskDraft(kernel="nonsense:3"))


def test_a_certificate_comes_with_the_heads_that_were_shown():
    asked = {"kernel": "power:1.5", "heads": 1}
    quick, whole = (heads_view(AskFit(**asked, certify=certify)) for certify in (False, True))
    assert quick["lower_bound"] is None
    assert quick["collision"] is None
    assert whole["coefficients"] == quick["coefficients"]
    assert 0 < whole["lower_bound"]["value"] <= whole["error"]["l1"]
    assert whole["collision"] is not None


@pytest.mark.parametrize("budget", [None, 50.0])
def test_the_bound_alone_is_that_of_the_fit(budget):
    values = {"kernel": "exp:0.1", "bias": "log", "heads": 3, "budget": budget}
    alone = bound_view(AskBound(**values))["lower_bound"]
    assert alone["value"] > 0 or budget is None
    assert alone == heads_view(AskFit(**values, certify=True))["lower_bound"]


def test_a_proof_that_aims_at_a_fit_is_not_given_before_it():
    assert bound_view(AskBound(kernel="exp:0.1", heads=2, budget=5.0))["lower_bound"] is None
