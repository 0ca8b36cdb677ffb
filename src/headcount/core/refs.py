"""References as data: every bound, construction, bias and experiment knows its theorem or paper."""

import re
import textwrap
from dataclasses import dataclass

from headcount.core.errors import unknown


@dataclass(frozen=True)
class Paper:
    """A published source. `link` is an arXiv number or a DOI."""

    title: str
    authors: str
    year: int
    link: str


PAPERS: dict[str, Paper] = {
    "wang-e-2024": Paper(
        "Understanding the Expressive Power and Mechanisms of Transformer for Sequence Modeling",
        "M. Wang and W. E",
        2024,
        "arXiv:2402.00522",
    ),
    "headcount": Paper(
        "Headcount: how much Transformer does a memory need?",
        "The Headcount authors",
        2026,
        "this software",
    ),
    "vaswani-2017": Paper(
        "Attention Is All You Need", "A. Vaswani et al.", 2017, "arXiv:1706.03762"
    ),
    "press-2022": Paper(
        "Train Short, Test Long: Attention with Linear Biases",
        "O. Press, N. Smith and M. Lewis",
        2022,
        "arXiv:2108.12409",
    ),
    "chi-2022": Paper(
        "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation",
        "T.-C. Chi et al.",
        2022,
        "arXiv:2205.09921",
    ),
    "raffel-2020": Paper(
        "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
        "C. Raffel et al.",
        2020,
        "arXiv:1910.10683",
    ),
    "li-2024-fire": Paper(
        "Functional Interpolation for Relative Positions Improves Long Context Transformers",
        "S. Li et al.",
        2024,
        "arXiv:2310.04418",
    ),
    "su-2021": Paper(
        "RoFormer: Enhanced Transformer with Rotary Position Embedding",
        "J. Su et al.",
        2021,
        "arXiv:2104.09864",
    ),
    "shaw-2018": Paper(
        "Self-Attention with Relative Position Representations",
        "P. Shaw, J. Uszkoreit and A. Vaswani",
        2018,
        "arXiv:1803.02155",
    ),
    "radford-2019": Paper(
        "Language Models are Unsupervised Multitask Learners",
        "A. Radford et al.",
        2019,
        "technical report",
    ),
    "xiao-2024": Paper(
        "Efficient Streaming Language Models with Attention Sinks",
        "G. Xiao et al.",
        2024,
        "arXiv:2309.17453",
    ),
    "ramapuram-2024": Paper(
        "Theory, Analysis, and Best Practices for Sigmoid Self-Attention",
        "J. Ramapuram et al.",
        2024,
        "arXiv:2409.04431",
    ),
    "hendrycks-2016": Paper(
        "Gaussian Error Linear Units (GELUs)",
        "D. Hendrycks and K. Gimpel",
        2016,
        "arXiv:1606.08415",
    ),
    "shazeer-2020": Paper(
        "GLU Variants Improve Transformer", "N. Shazeer", 2020, "arXiv:2002.05202"
    ),
    "ba-2016": Paper(
        "Layer Normalization", "J. Ba, J. Kiros and G. Hinton", 2016, "arXiv:1607.06450"
    ),
    "xiong-2020": Paper(
        "On Layer Normalization in the Transformer Architecture",
        "R. Xiong et al.",
        2020,
        "arXiv:2002.04745",
    ),
    "zhang-2019": Paper(
        "Root Mean Square Layer Normalization", "B. Zhang and R. Sennrich", 2019, "arXiv:1910.07467"
    ),
    "ding-2021": Paper(
        "CogView: Mastering Text-to-Image Generation via Transformers",
        "M. Ding et al.",
        2021,
        "arXiv:2105.13290",
    ),
    "cho-2014": Paper(
        "Learning Phrase Representations using RNN Encoder-Decoder",
        "K. Cho et al.",
        2014,
        "arXiv:1406.1078",
    ),
    "hochreiter-1997": Paper(
        "Long Short-Term Memory",
        "S. Hochreiter and J. Schmidhuber",
        1997,
        "doi:10.1162/neco.1997.9.8.1735",
    ),
    "gu-2022": Paper(
        "On the Parameterization and Initialization of Diagonal State Space Models",
        "A. Gu et al.",
        2022,
        "arXiv:2206.11893",
    ),
    "oord-2016": Paper(
        "WaveNet: A Generative Model for Raw Audio",
        "A. van den Oord et al.",
        2016,
        "arXiv:1609.03499",
    ),
    "e-ma-wu-2019": Paper(
        "The Barron Space and the Flow-induced Function Spaces for Neural Network Models",
        "W. E, C. Ma and L. Wu",
        2019,
        "arXiv:1906.08039",
    ),
    "edelman-2022": Paper(
        "Inductive Biases and Variable Creation in Self-Attention Mechanisms",
        "B. Edelman et al.",
        2022,
        "arXiv:2110.10090",
    ),
    "sanford-2024": Paper(
        "Transformers, Parallel Computation, and Logarithmic Depth",
        "C. Sanford, D. Hsu and M. Telgarsky",
        2024,
        "arXiv:2402.09268",
    ),
    "arora-2023": Paper(
        "Zoology: Measuring and Improving Recall in Efficient Language Models",
        "S. Arora et al.",
        2023,
        "arXiv:2312.04927",
    ),
    "poli-2024": Paper(
        "Mechanistic Design and Scaling of Hybrid Architectures",
        "M. Poli et al.",
        2024,
        "arXiv:2403.17844",
    ),
    "olsson-2022": Paper(
        "In-context Learning and Induction Heads", "C. Olsson et al.", 2022, "arXiv:2209.11895"
    ),
    "gu-dao-2023": Paper(
        "Mamba: Linear-Time Sequence Modeling with Selective State Spaces",
        "A. Gu and T. Dao",
        2023,
        "arXiv:2312.00752",
    ),
    "beylkin-monzon-2010": Paper(
        "Approximation by exponential sums revisited",
        "G. Beylkin and L. Monzon",
        2010,
        "doi:10.1016/j.acha.2009.08.011",
    ),
    "braess-hackbusch-2005": Paper(
        "Approximation of 1/x by exponential sums in [1, inf)",
        "D. Braess and W. Hackbusch",
        2005,
        "doi:10.1093/imanum/dri015",
    ),
    "hua-sarkar-1990": Paper(
        "Matrix pencil method for estimating parameters of exponentially damped/undamped sinusoids"
        " in noise",
        "Y. Hua and T. Sarkar",
        1990,
        "doi:10.1109/29.56027",
    ),
    "golub-pereyra-1973": Paper(
        "The differentiation of pseudo-inverses and nonlinear least squares problems whose"
        " variables separate",
        "G. Golub and V. Pereyra",
        1973,
        "doi:10.1137/0710036",
    ),
    "brubeck-2021": Paper(
        "Vandermonde with Arnoldi",
        "P. Brubeck, Y. Nakatsukasa and L. N. Trefethen",
        2021,
        "arXiv:1911.09988",
    ),
    "yu-2026": Paper(
        "The effect of attention head count on Transformer approximation",
        "P. Yu, H. Jiang, Z. Bao, Y. Yu and Q. Li",
        2026,
        "arXiv:2510.06662",
    ),
    "mallat-1999": Paper("A Wavelet Tour of Signal Processing", "S. Mallat", 1999, "book"),
    "shannon-1948": Paper(
        "A Mathematical Theory of Communication",
        "C. E. Shannon",
        1948,
        "doi:10.1002/j.1538-7305.1948.tb01338.x",
    ),
}


@dataclass(frozen=True)
class Ref:
    """Where a statement comes from: a paper's key and the place in it.

    >>> print(Ref("wang-e-2024", "Theorem 3.1"))
    Wang and E 2024, Theorem 3.1 (arXiv:2402.00522)
    """

    paper: str
    where: str = ""

    def __post_init__(self):
        if self.paper not in PAPERS:
            raise unknown("paper", self.paper, PAPERS)

    def __str__(self) -> str:
        paper = PAPERS[self.paper]
        surnames = re.sub(r"(?:[A-Z]\.[ -]?)+", "", paper.authors)
        place = f", {self.where}" if self.where else ""
        return f"{surnames} {paper.year}{place} ({paper.link})"


BIBLIOGRAPHY = """# Bibliography

Every source that the software cites, made from `core/refs.py` (`python -m
headcount.core.refs > docs/bibliography.md`).
"""


def bibtex(key: str, paper: Paper) -> str:
    """One entry.

    >>> print(bibtex("press-2022", PAPERS["press-2022"]).splitlines()[0])
    @misc{press-2022,
    """
    names = paper.authors.replace(" et al.", " and others").replace(", ", " and ")
    kind, _, number = paper.link.partition(":")
    where = {"arXiv": f"eprint = {{{number}}},\n  archivePrefix = {{arXiv}}"}.get(
        kind, f"note = {{{paper.link}}}"
    )
    title = textwrap.fill(paper.title, 80, subsequent_indent="    ")
    return (
        f"@misc{{{key},\n  title = {{{{{title}}}}},\n  author = {{{names}}},\n"
        f"  year = {{{paper.year}}},\n  {where},\n}}"
    )


def bibliography() -> str:
    """docs/bibliography.md: every paper that is cited, as BibTeX."""
    entries = "\n\n".join(bibtex(key, paper) for key, paper in sorted(PAPERS.items()))
    return f"{BIBLIOGRAPHY}\n```bibtex\n{entries}\n```\n"


if __name__ == "__main__":
    print(bibliography(), end="")
