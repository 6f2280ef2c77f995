"""What the tests of large jobs share: pictures, the command, and a Ray cluster of two nodes."""

import json
from importlib.util import find_spec

import pytest
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.main import app

collect_ignore_glob = [] if find_spec("pyarrow") else ["test_*.py"]  # pip install 'anyscene[ray]'


@pytest.fixture(scope="session")
def pictures(streets, tmp_path_factory):
    """A folder of 40 pictures, four scenes under many names, some in a folder of their own."""
    folder = tmp_path_factory.mktemp("sources") / "photos"
    (folder / "inner").mkdir(parents=True)
    scenes = [Image.fromarray(scene.image) for scene in streets.split("val")]
    for index in range(40):
        scenes[index % len(scenes)].save(folder / ("inner" if index % 2 else "") / f"{index:03d}.png")
    return folder


@pytest.fixture
def label(model_file, engine):
    """Run the command with the small model; return its exit code, its summary and all that it printed."""

    def run(*arguments):
        given = [str(argument) for argument in arguments]
        done = CliRunner().invoke(app, ["label", *given, "--model", str(model_file), "--json", "-"])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, json.loads(done.stdout), done.output

    return run


@pytest.fixture
def records():
    """Read the whole manifest of a job's output, as one table."""

    import pyarrow.dataset

    def read(output):
        return pyarrow.dataset.dataset(output / "manifest", format="parquet").to_table()

    return read


@pytest.fixture(scope="session")
def ray_cluster():
    """Two nodes of one core each."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'anyscene[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        # Ray lets its workers be nice to others, who might leave them nothing on a busy machine.
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_BACKEND_LOG_LEVEL", "fatal")
        from ray.cluster_utils import Cluster

        options = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
        made = Cluster(initialize_head=True, head_node_args={**options, "include_dashboard": False})
        made.add_node(**options)
        yield made
        made.shutdown()
