"""One small instance of every named target, as text, with a length that suits it: for tests and
for a first look.
"""

EXAMPLES: dict[str, tuple[str, int]] = {
    "adaptive-boolean": ("adaptive-boolean:read=all", 24),
    "algebraic": ("algebraic:beta=3,memories=2,read=all", 24),
    "english": ("english:megabytes=0.2", 48),
    "exp-1b": ("exp-1b:reading=positions,position=1000", 1000),
    "exp-1b-repaired": ("exp-1b-repaired:read=all", 24),
    "exp-2a": ("exp-2a:reading=lags,position=120", 128),
    "exp-2a-repaired": ("exp-2a-repaired:read=all", 24),
    "exp-2b": ("exp-2b:reading=positions,position=120", 128),
    "exp-2b-repaired": ("exp-2b-repaired:read=all", 24),
    "exp-3a": ("exp-3a:reading=lags,position=120", 128),
    "exp-3a-repaired": ("exp-3a-repaired:read=all", 24),
    "exp-4a": ("exp-4a:read=all", 24),
    "exp-4b": ("exp-4b:read=all", 24),
    "fuzzy-recall": ("fuzzy-recall:pairs=3,symbols=3", 24),
    "induction": ("induction:symbols=5,read=all", 24),
    "n-gram": ("n-gram:n=3,symbols=4", 24),
    "noisy": ("noisy:of=fixed(lags=1+3,read=all),sigma=0", 24),
    "noisy-recall": ("noisy-recall:pairs=4,symbols=5", 24),
    "parity": ("parity:lags=5+12,read=all", 24),
    "pointer-chain": ("pointer-chain:hops=2,symbols=6", 40),
    "prop42": ("prop42:read=all", 24),
    "recall": ("recall:pairs=6", 24),
    "selective-copy": ("selective-copy:items=4,symbols=8", 24),
    "series": ("series:of=essential(kernel=exp:0.5)", 24),
    "stdlib": ("stdlib:megabytes=0.2", 48),
    "sticky": ("sticky:of=recall(pairs=4,symbols=5),stay=0.3", 24),
    "wavelet": ("wavelet:wavelet=both,scales=2,read=all", 24),
}
