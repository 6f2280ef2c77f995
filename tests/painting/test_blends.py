"""Maps are blended in the cells of the finest."""

import numpy as np

from anyscene.painting.blends import blend_maps


def test_maps_are_blended_in_the_cells_of_the_finest():
    random = np.random.default_rng(0)
    fine = random.dirichlet(np.ones(4), (6, 8)).astype(np.float32)
    coarse = np.broadcast_to(np.array([0.5, 0.3, 0.1, 0.1], np.float32), (3, 4, 4))
    blended = blend_maps([(0.3, np.log(coarse)), (0.6, np.log(fine))])
    expected = 0.3 * np.log(coarse[0, 0]) + 0.6 * np.log(fine)
    np.testing.assert_allclose(blended, expected, rtol=1e-4, atol=1e-5)
