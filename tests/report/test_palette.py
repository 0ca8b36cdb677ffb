"""Colours: enough contrast on both pages, and told apart by colour-blind readers."""

import itertools

import numpy as np
import pytest

from headcount.lab.judge.verdict import Outcome
from headcount.report.palette import BADGES, DARK, FAMILIES, LIGHT, contrast, linear

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
BLIND = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "normal": np.eye(3),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def _lab(rgb: np.ndarray) -> np.ndarray:
    x, y, z = TO_XYZ @ np.clip(rgb, 0, 1) / (0.95047, 1.0, 1.08883)
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def _distance(one: str, other: str, sight: str) -> float:
    return float(
        np.linalg.norm(
            _lab(BLIND[sight] @ np.array(linear(one)))
            - _lab(BLIND[sight] @ np.array(linear(other)))
        )
    )


@pytest.mark.parametrize("face", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast_with_the_page(face):
    assert min(contrast(face[name], face["paper"]) for name in FAMILIES) >= 3
    assert min(contrast(face[name], face["paper"]) for name in ("ink", "muted", "c0")) >= 4.5


@pytest.mark.parametrize("face", ["light", "dark"])
def test_contrast_of_outcomes(face):
    assert set(BADGES) == set(Outcome)
    assert len({badge.sign for badge in BADGES.values()}) == len(BADGES)
    paper = (LIGHT if face == "light" else DARK)["paper"]
    assert min(contrast(badge.colours[face], paper) for badge in BADGES.values()) >= 4.5


@pytest.mark.parametrize("sight", BLIND)
@pytest.mark.parametrize("face", [LIGHT, DARK], ids=["light", "dark"])
def test_families_can_be_told_apart(face, sight):
    pairs = {
        (a, b): _distance(face[a], face[b], sight) for a, b in itertools.combinations(FAMILIES, 2)
    }
    nearest = min(pairs, key=lambda pair: pairs[pair])
    assert pairs[nearest] >= 12, (nearest, pairs[nearest])  # 2.3 is just noticeable


@pytest.mark.parametrize("face", [LIGHT, DARK], ids=["light", "dark"])
def test_the_last_family_is_a_neutral_grey(face):
    """What is drawn in it stands back behind the others."""
    channels = [int(face["c6"][i : i + 2], 16) for i in (1, 3, 5)]
    assert max(channels) - min(channels) < 20


def test_no_two_roles_share_a_colour():
    for face in (LIGHT, DARK):
        assert len(set(face.values())) == len(face)
