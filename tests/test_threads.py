import cv2
import numba
import pytest

from anyscene.threads import one_thread


def test_one_thread_holds_inside_and_is_undone_even_after_an_error():
    before = cv2.getNumThreads(), numba.get_num_threads()
    inside = None

    def fail_on_one_thread():
        nonlocal inside
        with one_thread():
            inside = cv2.getNumThreads(), numba.get_num_threads()
            raise KeyError

    with pytest.raises(KeyError):
        fail_on_one_thread()
    assert inside == (1, 1)
    assert (cv2.getNumThreads(), numba.get_num_threads()) == before
