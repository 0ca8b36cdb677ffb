from headcount.lab.sweep.summary import axes, by_axis

TABLE = {
    "id": ["a", "b", "c", "d"],
    "model.heads": [1, 1, 2, 2],
    "model.width": [8, 8, 8, 8],
    "seed": [0, 1, 0, 1],
    "status": ["finished"] * 4,
    "outcome": ["finished", "finished", "finished", "diverged"],
    "final.eval_loss": [0.4, 0.2, 0.1, None],
    "seconds.run": [1.0, 2.0, 3.0, 4.0],
}


def test_only_settings_are_axes_and_the_seed_is_none():
    assert axes(TABLE) == ["model.heads"]


def test_counts_and_spread_of_each_value():
    first, second = by_axis(TABLE)
    assert (first.axis, first.value, first.runs, first.finished) == ("model.heads", "1", 2, 2)
    assert (first.smallest, first.largest) == (0.2, 0.4)
    assert abs(first.median - 0.3) < 1e-12
    assert (second.runs, second.finished, second.median) == (2, 1, 0.1)


def test_a_store_without_axes_has_one_row_and_an_empty_one_none():
    same = {**TABLE, "model.heads": [1] * 4}
    assert [row.axis for row in by_axis(same)] == ["all runs"]
    assert by_axis({"id": []}) == []
