"""The cases whose outputs are stored: what a user or a caller asked for before the rebuilding.

A case is a line of the command line (`fit`, `bound`, `plan`, `build`, `reproduce`; recorded with
`--json`) or, where the command line has no word for it, a call: `fit-residual KERNEL …` (x_t comes
free) and `lower-bound KERNEL …` (a bound alone, without the fit). `quick` cases run in `make test`,
all of them in `make test-slow`.
"""

import dataclasses
import shlex


@dataclasses.dataclass(frozen=True)
class Case:
    """One question, and whether it is asked in `make test`. Its name is the question itself."""

    name: str
    quick: bool = False

    @property
    def words(self) -> list[str]:
        return shlex.split(self.name)

    @property
    def verb(self) -> str:
        return self.words[0]


def _cases(verb: str, lines: str) -> list[Case]:
    """One case per line; a star in front: quick."""
    found = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        found.append(Case(f"{verb} {line.removeprefix('*').strip()}", line.startswith("*")))
    return found


FITS = """
* lag:0 --heads 1
* lag:1 --heads 1
* lag:1 --heads 2
* lag:4 --heads 5
lag:4 --heads 8 --budget 1000
lag:6 --heads 7 --dtype float32
* lag:6 --heads 6 --window 7
lag:30 --heads 40 --budget 1e6
lag:3 --heads 3 --norm l2
lag:3 --heads 3 --norm sup --window 20
* lag:5 --tol 0.5
* lag:3 --bias log --heads 3
lag:3 --bias log --heads 6 --norm sup --budget 100
* lag:2 --bias log --heads 2
* lag:2 --bias log1p --heads 3
lag:2 --bias log1p --heads 3 --budget 50
* exp:0.1 --heads 1
* exp:0.1 --heads 3
exp:0.01 --bias log --heads 5 --window 200 --budget 20000
exp:0.5 --bias log --heads 3 --window 64
exp:0.5 --bias log1p --heads 3
exp:1 --bias log1p --heads 4 --norm sup
exp:0.05 --bias log --tol 0.1 --window 100
* power:1.5 --heads 2
* power:1.5 --heads 4 --window 128
power:1.5 --heads 8
power:1.5 --heads 6 --norm l2
power:1.5 --heads 5 --norm sup --window 256
power:1.5 --tol 0.05
power:2.5 --heads 3 --budget 2
power:1.2 --heads 6 --dtype bfloat16
power:1.5 --heads 4 --dtype float32 --window 512
* power:1.5 --bias log --heads 1
power:1.5 --bias log1p --heads 4
power:0.3 --bias log --heads 4 --budget 100
* power:0.3 --bias log --heads 2 --window 100
power:0.5 --heads 3 --window 100
* power:2 --bias log1p --heads 3 --norm l2 --window 64
osc:0.05,0.3 --heads 4
osc:0.3,1 --heads 3 --norm l2
osc:0.2,0.7 --bias log --heads 4 --window 60
osc:0.05,0.3 --heads 6 --budget 100 --window 200
mexican-hat:20,4 --heads 6 --window 80
morlet:20,4 --heads 6 --window 80
* morlet:12,2 --bias peak --heads 4 --window 40
window:5 --heads 3
window:5 --heads 8 --budget 200
window:8,exp:0.2 --heads 4
window:4 --bias log1p --heads 4 --norm sup
array:1+0.5+0.25 --heads 2
array:1+-1+0.5+0.2 --heads 3 --norm l2
* lag:7 --bias peak --heads 1 --window 32
* lag:99 --bias peak --heads 1
* exp:0.2 --bias peak --heads 4 --window 32
* power:1.5 --bias peak --heads 6 --window 64 --dtype float32
* lag:9 --bias table --heads 1 --window 32
* power:1.5 --bias table --heads 1 --window 64
* lag:5 --bias rope --heads 1 --window 24
* osc:0.05,0.3 --bias rope --heads 3 --window 64
power:1.5 --heads 4 --no-lower-bound
"""

RESIDUAL_FITS = """
* lag:3 --heads 3
lag:3 --heads 3 --budget 100
exp:0.3 --heads 2 --bias log1p
power:1.5 --heads 4
* lag:2 --heads 2 --bias log --norm l2
window:4 --heads 3
"""

LOWER_BOUNDS = """
* lag:3 --heads 3
* lag:3 --heads 2 --norm sup
* lag:3 --heads 2 --norm l2
* lag:3 --heads 2 --bias log
* lag:5 --heads 5 --bias log1p --norm l2
* lag:6 --heads 6 --window 7
lag:6 --budget 100
lag:6 --budget 1e6 --norm sup
* lag:4 --budget 1000 --bias log1p
* lag:4 --budget 1000 --bias log --norm l2
* lag:4 --heads 4 --residual
* lag:4 --heads 3 --residual --norm sup
* lag:40 --budget 1e5
* lag:40 --budget 1e5 --window 64
* window:4 --heads 3
* window:4 --heads 2 --norm sup
window:6 --budget 50
* window:6 --budget 50 --norm sup --bias log1p
* window:6 --budget 50 --norm l2 --window 12
* array:1+-1+0.5 --heads 1
* array:1+0+0+2 --heads 2 --norm l2
array:0+1+0+0+0+0+1 --heads 2
* exp:0.1 --heads 2 --bias log --window 40
* exp:0.1 --heads 3 --bias log1p --window 40 --norm l2
* exp:0.3 --budget 5 --bias log --window 60
* exp:0.3 --budget 5 --bias log1p
exp:0.3 --budget 5 --bias log1p --norm sup
exp:1 --heads 2 --bias log1p --budget 20 --norm l2
* power:1.5 --heads 1 --window 50
* power:1.5 --heads 2 --norm sup --window 50
* power:1.5 --heads 2 --norm l2 --window 50
* power:1.5 --heads 3
power:1.5 --heads 3 --budget 1.5
* power:0.3 --budget 1 --bias log --window 80
* power:0.3 --heads 4 --bias log --budget 100
* power:2 --heads 2 --bias log1p --window 64 --residual
* osc:0.1,0.5 --heads 2 --window 60
* osc:0.1,0.5 --heads 3 --norm l2 --bias log --window 60
* osc:0.1,0.5 --budget 3 --norm sup --window 60
* osc:0.1,0.5 --budget 10 --bias log1p
* mexican-hat:10,2 --heads 4 --window 40
"""

THEOREMS = """
* --theorem 3.1 --target fixed:lags=10 --heads 7862 --width 1000000
* --theorem 3.1 --target fixed:lags=3+17 --bias log --heads 64
* --theorem 3.1 --target fixed:lags=3+17,readout=teacher --heads 64 --width 4096
* --theorem 3.1 --target fixed:lags=2 --heads 1
* --theorem 3.1 --target essential:kernel=power:1.5
* --theorem 4.1 --target 'adaptive:lag_functions=bits+bits' --heads 32
* --theorem 4.1 --target prop42 --bias log --heads 16
* --theorem 4.2 --target prop42 --heads 100
* --theorem 4.2 --target prop42 --bias log --heads 4
* --theorem 4.3 --target prop42 --heads 32
* --theorem 4.4 --target adaptive-boolean --heads 64
* --theorem 4.4 --target adaptive-boolean --bias log --heads 64
* --theorem 4.5 --target adaptive-boolean --heads 64
* --theorem 5.1 --target essential:kernel=power:1.5 --bias log
* --theorem 5.1 --target essential:kernel=power:2.5 --bias log --heads 256
* --theorem 5.1 --target essential:kernel=exp:0.5 --heads 256 --width 100000
* --theorem 5.1 --target algebraic --bias log --heads 64
* --theorem 5.1 --target wavelet --heads 64
"""

PLANS = """
fixed:lags=3 --tol 0.1 --length 16
fixed:lags=1+2 --tol 0.1 --length 16 --normaliser softmax-sink
fixed:lags=6 --tol 0.1 --length 7
parity:lags=1+3 --tol 0.1 --length 16 --normaliser none
essential:kernel=exp:0.01 --tol 0.1 --length 100 --normaliser none
essential:kernel=power:1.5 --tol 0.1 --length 32 --normaliser none
prop42 --tol 0.1 --length 16 --normaliser none
adaptive-boolean --tol 0.1 --length 16 --normaliser none
adaptive:lag_functions=bits+bits --tol 0.1 --length 16 --normaliser softmax-sink
recall:pairs=2,symbols=3 --tol 0.1 --length 16
induction:symbols=3 --tol 0.1 --length 16 --normaliser softmax
pointer-chain:hops=2,symbols=3 --tol 0.1 --length 16
* n-gram:n=2,symbols=3 --tol 0.1 --length 16 --normaliser softmax
selective-copy:items=2,symbols=2 --tol 0.1 --length 16
"""

BUILDS = """
fixed:lags=1 --bias log --tol 1e-3 --length 32
fixed:lags=1+2 --bias lin --tol 0.1 --length 32
fixed:lags=1+2,readout=product --bias log --tol 0.1 --length 32 --normaliser softmax-tail
fixed:lags=1 --bias log1p --heads 3 --length 24 --normaliser softmax
recall:pairs=2,symbols=3 --bias lin --normaliser softmax --length 24
induction:symbols=4 --bias peak --normaliser softmax --length 24
pointer-chain:hops=3,symbols=3 --bias lin --length 24
pointer-chain:hops=3,symbols=3 --bias none --normaliser softmax --theorem chain --length 24
* n-gram:n=2,symbols=3 --bias table --normaliser softmax --length 24
* selective-copy:items=2,symbols=2 --bias lin --length 24
prop42:read=all --bias peak --tol 1e-6 --length 24 --normaliser softmax-sink
adaptive:lag_functions=bits+bits --bias log --tol 0.1 --length 24 --normaliser softmax-sink
adaptive-boolean --bias lin --heads 6 --length 24 --theorem nested --precision float64
adaptive:lag_functions=bits+bits --bias log --heads 4 --length 24 --theorem deep
prop42 --bias lin --heads 3 --length 24 --normaliser softmax-sink
prop42 --bias lin --heads 3 --length 24 --theorem tmx
fixed:lags=3+17 --bias peak --tol 1e-5 --length 24 --normaliser softmax-sink
fixed:lags=5,readout=teacher --bias table --tol 1e-3 --length 24 --normaliser softmax
fixed:lags=4 --bias rope --tol 1e-3 --length 24 --normaliser softmax-tail
essential:kernel=power:1.5 --bias table --tol 1e-5 --length 24
essential:kernel=power:1.5 --bias lin --tol 0.05 --length 24 --normaliser softmax-bos
* essential:kernel=exp:0.3,readout=teacher --bias lin --tol 0.01 --length 24
* fixed:lags=2 --bias lin --tol 0.1 --length 24 --theorem minimal
fixed:lags=1+3 --bias log --tol 1e-3 --length 24 --theorem composed
exp-1b-repaired:neurons=4 --bias peak --tol 0.01 --length 24
exp-2a-repaired:teeth=2 --bias log --tol 0.1 --length 24
algebraic --bias log --tol 0.1 --length 24
wavelet:scales=1 --bias table --tol 0.1 --length 48
exp-4b --bias lin --tol 0.01 --length 24
"""

REPRODUCTIONS = "--profile smoke"

CASES: list[Case] = [
    *_cases("fit", FITS),
    *_cases("fit-residual", RESIDUAL_FITS),
    *_cases("lower-bound", LOWER_BOUNDS),
    *_cases("bound", THEOREMS),
    *_cases("plan", PLANS),
    *_cases("build", BUILDS),
    *_cases("reproduce", REPRODUCTIONS),
]
