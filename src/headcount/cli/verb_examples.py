"""An example for every verb: shown under its `--help` and in docs/commands.md."""

EXAMPLES: dict[str, str] = {
    "fit": "headcount fit lag:2 --bias lin --heads 4 --budget 1000",
    "bound": "headcount bound --theorem 3.1 --target fixed:lags=3 --bias lin --heads 8 --width 64",
    "plan": "headcount plan fixed:lags=3 --tol 0.05 --length 64",
    "build": "headcount build fixed:lags=3+17 --bias peak --tol 0.001 --length 64 -o lag3",
    "export": "headcount export lag3 --to torch -o lag3-torch",
    "train": "headcount train --example > run.yaml; headcount train run.yaml train.steps=500",
    "sweep": "headcount sweep --example > plan.yaml; headcount sweep plan.yaml --store runs.sqlite",
    "status": "headcount status runs.sqlite",
    "results": "headcount results runs.sqlite --summary",
    "reproduce": "headcount reproduce 4b --profile smoke -o out",
    "finite-sample": "headcount study finite-sample essential:kernel=exp:0.3 --error 0.05",
    "rivals": "headcount study rivals lag-30 recall --equal state",
    "robustness": "headcount study robustness 4a 3b --profile smoke",
    "mad": "headcount study mad memorising --profile smoke",
    "zoo": "headcount zoo gru:width=32 --memory lag-5 --memory recall",
    "diagnose": "headcount diagnose data.csv --target y --json",
    "serve": "headcount serve --open",
    "cache": "headcount cache",
    "list": "headcount list bias",
    "explain": "headcount explain slot",
    "doctor": "headcount doctor",
}
WORDS = "Terms: headcount explain TERM."


def epilog(verb: str) -> str | None:
    """What stands under the verb's help."""
    return f"Example: {EXAMPLES[verb]}\n\n{WORDS}" if verb in EXAMPLES else None
