"""What of a model file is run."""

import numpy as np
import pytest

from anyscene.engine.loading import bank_of, columns_read, find_model
from anyscene.features import View
from anyscene.features.hypercolumn.rungs import NETWORK, head_from_arrays, ladder
from anyscene.model.modelfile import load_model

RUNG = f"{NETWORK}@267"


@pytest.fixture(scope="module")
def trained():
    return load_model(find_model("camvid"))


def test_rows_of_the_head_that_no_learner_reads_are_not_computed(trained):
    in_file = len(trained.features[f"{NETWORK}/bias"])
    rungs = {name: own for name, own in bank_of(trained).items() if name.startswith(f"{NETWORK}@")}
    for name, rung in rungs.items():
        assert rung.channels == max(columns_read(trained.model.pool, name), len(trained.classes))
    assert min(rung.channels for rung in rungs.values()) < in_file


def test_what_is_read_stays_the_same(trained):
    short = bank_of(trained)[RUNG]
    head, _ = head_from_arrays(trained.features, len(trained.classes))
    whole = ladder(short._network, head, (RUNG,))[RUNG]
    view = View(np.random.default_rng(0).integers(0, 256, (96, 128, 3), dtype=np.uint8))
    maps = [rung.extract(view, view.rect, 0) for rung in (short, whole)]
    np.testing.assert_allclose(maps[0], maps[1][..., : short.channels], atol=1e-4)
