"""What tests of features share: a bank with made-up parameters, and one street."""

import numpy as np
import pytest

from anyscene.features.random_bank import random_bank


@pytest.fixture(scope="session")
def bank():
    """All registered sets, with random parameters."""
    return random_bank(np.random.default_rng(0), classes=5)


@pytest.fixture(scope="session")
def street(streets):
    """One generated scene of 120x90."""
    return streets.split("train")[0].image
