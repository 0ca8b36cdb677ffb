"""One Transformer whose parts are small objects, and baselines behind the same interface."""
