"""One theorem or idea per file; importing this registers them all."""

from headcount.construct.methods import affine_lag as affine_lag
from headcount.construct.methods import context_neurons as context_neurons
from headcount.construct.methods import counting as counting
from headcount.construct.methods import fewest_lin_heads as fewest_lin_heads
from headcount.construct.methods import lags_by_depth as lags_by_depth
from headcount.construct.methods import lags_named_by_tokens as lags_named_by_tokens
from headcount.construct.methods import latest_match as latest_match
from headcount.construct.methods import linear_answers as linear_answers
from headcount.construct.methods import one_head_per_lag as one_head_per_lag
from headcount.construct.methods import peak_at_affine_lag as peak_at_affine_lag
from headcount.construct.methods import peak_at_lag as peak_at_lag
from headcount.construct.methods import pointer_jumps as pointer_jumps
from headcount.construct.methods import pointer_leaps as pointer_leaps
from headcount.construct.methods import shared_between_lags as shared_between_lags
from headcount.construct.methods import sums_of_decays as sums_of_decays
from headcount.construct.methods import tokens_as_digits as tokens_as_digits
