"""Where fitted baselines are kept."""

import pytest

from anyscene.errors import ConfigError
from anyscene.evaluation.baselines.fitted import claim_folder


def test_baselines_are_not_kept_in_a_folder_of_something_else(streets, tmp_path):
    claim_folder(tmp_path / "kept", streets, None)
    claim_folder(tmp_path / "kept", streets, None)
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match="is not empty"):
        claim_folder(tmp_path, streets, None)
