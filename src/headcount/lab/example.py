"""A small ready plan to start from: about a minute on two cores."""

EXAMPLE = """\
# How many heads does gradient descent need for a lag? Without an FFN, 4 lin heads can draw lag 3 and fewer cannot.
# Save this as plan.yaml, then: headcount sweep plan.yaml --dry-run; headcount sweep plan.yaml; headcount results runs.sqlite --csv
name: heads-for-a-lag
baseline:                       # one run, as for headcount train
  memory: fixed:lags=3,readout=linear
  model: {width: 16, attention: dp-free, bias: lin, ffn: none}
  train: {steps: 100000, batch: 100, length: 32, lr: 0.003, schedule: {shape: cosine}}
axes:                           # every combination; with one_at_a_time: true the baseline and each change on its own
  model.heads: [1, 2, 4, 8]
seeds: 5                        # 0, 1, 2, 3, 4; or a list of seeds
"""
