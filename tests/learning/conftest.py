"""Small generated worlds to learn from."""

import pytest

from tests.worlds import learnable_corpus, worlds_to_learn_from


@pytest.fixture(scope="session")
def worlds():
    return worlds_to_learn_from()


@pytest.fixture(scope="session")
def corpus(worlds):
    return learnable_corpus(worlds)
