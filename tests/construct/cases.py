"""The case table: targets and how to construct them. One list drives reference, model, float32
model and saved model.

Cases with `slow` are near relatives of others: they run with the full-size checks.
"""

CASES: list[tuple[str, dict]] = [
    # fixed: Theorem 3.1
    ("fixed:lags=1", {"bias": "log", "tol": 1e-3, "length": 32}),
    ("fixed:lags=1+2", {"slow": True, "bias": "lin", "tol": 0.1, "length": 32}),
    (
        "fixed:lags=1+2,readout=product",
        {"slow": True, "bias": "log", "tol": 0.1, "length": 32, "normaliser": "softmax-tail"},
    ),
    ("fixed:lags=1", {"bias": "lin", "heads": 2, "length": 32, "normaliser": "softmax-bos"}),
    (
        "fixed:lags=1",
        {"slow": True, "bias": "log1p", "heads": 3, "length": 24, "normaliser": "softmax"},
    ),
    # recall, induction: the latest match
    ("recall:pairs=2,symbols=3", {"bias": "lin", "normaliser": "softmax", "length": 24}),
    ("induction:symbols=4", {"slow": True, "bias": "peak", "normaliser": "softmax", "length": 24}),
    # doubling, chain: pointers
    ("pointer-chain:hops=3,symbols=3", {"bias": "lin", "length": 24}),
    (
        "pointer-chain:hops=3,symbols=3",
        {"slow": True, "bias": "none", "normaliser": "softmax", "theorem": "chain", "length": 24},
    ),
    # n-gram, selective-copy
    ("n-gram:n=2,symbols=3", {"bias": "table", "normaliser": "softmax", "length": 24}),
    ("selective-copy:items=2,symbols=2", {"bias": "lin", "length": 24}),
    # peak-tmx: one head per memory, any lag
    ("prop42:read=all", {"bias": "peak", "tol": 1e-6, "length": 24, "normaliser": "softmax-sink"}),
    # adaptive: Theorem 4.1
    (
        "adaptive:lag_functions=bits+bits",
        {"bias": "log", "tol": 0.1, "length": 24, "normaliser": "softmax-sink"},
    ),
    # nested and deep: Theorem 4.4, Proposition 4.5
    (
        "adaptive:lag_functions=affine(offset=1.5,slope=0.5,T=2)+affine(offset=1.5,slope=0.5,T=2),nesting=1",
        {"bias": "lin", "heads": 3, "length": 24},
    ),
    (
        "adaptive:lag_functions=bits+bits",
        {"slow": True, "bias": "log", "heads": 4, "length": 24, "theorem": "deep"},
    ),
    # prop42: one layer, no FFN
    (
        "prop42",
        {"slow": True, "bias": "lin", "heads": 3, "length": 24, "normaliser": "softmax-sink"},
    ),
    # tmx: Proposition 4.3
    ("prop42", {"bias": "lin", "heads": 3, "length": 24, "theorem": "tmx"}),
    # shaped: one head per lag
    ("fixed:lags=3+17", {"bias": "peak", "tol": 1e-5, "length": 24, "normaliser": "softmax-sink"}),
    (
        "fixed:lags=5,readout=teacher",
        {"slow": True, "bias": "table", "tol": 1e-3, "length": 24, "normaliser": "softmax"},
    ),
    ("fixed:lags=4", {"bias": "rope", "tol": 1e-3, "length": 24, "normaliser": "softmax-tail"}),
    ("essential:kernel=power:1.5", {"slow": True, "bias": "table", "tol": 1e-5, "length": 24}),
    # essential: Theorem 5.1
    (
        "essential:kernel=power:1.5",
        {"bias": "lin", "tol": 0.2, "length": 24, "normaliser": "softmax-bos"},
    ),
    ("essential:kernel=exp:0.3,readout=teacher", {"bias": "lin", "tol": 0.01, "length": 24}),
    # minimal: T + 1 heads
    ("fixed:lags=2", {"bias": "lin", "tol": 0.1, "length": 24, "theorem": "minimal"}),
    # composed: depth in place of precision
    ("fixed:lags=1+3", {"bias": "log", "tol": 1e-3, "length": 24, "theorem": "composed"}),
    (
        "fixed:lags=2",
        {"slow": True, "bias": "lin", "tol": 0.05, "length": 24, "theorem": "composed"},
    ),
]
