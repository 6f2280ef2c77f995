"""Rules that keep the code base one that can be inherited; see ARCHITECTURE.md."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "anyscene"

# From the ground up; names on one line stand side by side and may use each other.
LAYERS = (
    {"errors"},
    {"files", "marks", "named_arrays", "archives", "checks"},
    {"machine", "threads", "processes", "forking"},
    {"data"},
    {"exports", "familiarity"},
    {"labeling"},
    {"outputs"},
    {"metrics", "metrics_kernels"},
    {"hierarchy"},
    {"features"},
    {"model"},
    {"painting"},
    {"policy"},
    {"modelfile"},
    {"costs"},
    {"learning"},
    {"engine"},
    {"streams"},
    {"evaluation"},
    {"server"},
    {"integrations"},
    {"cluster"},
    {"apps", "__main__"},
)
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(SOURCE.rglob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").glob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def layers_imported(code: str, package: str) -> set[str]:
    """The layers of anyscene that some code imports, at any depth of nesting.

    package: the dotted package that the code lives in, which relative imports start from.
    """
    targets = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            targets += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = importlib.util.resolve_name("." * node.level + base, package)
            targets += [f"{base}.{alias.name}" for alias in node.names]
    parts = [target.split(".") for target in targets]
    # `from anyscene import X` also takes plain names of the package, such as __version__.
    return {words[1] for words in parts if words[0] == "anyscene" and len(words) > 1 and words[1] in RANKS}


def too_high(code: str, layer: str, package: str) -> set[str]:
    return {other for other in layers_imported(code, package) if RANKS[other] > RANKS[layer]}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_layer_imports_a_higher_one(path):
    if path == SOURCE / "__init__.py":  # the package's face: shows what is above, lazily
        return
    package = ".".join(path.relative_to(SOURCE.parent).parent.parts)
    found = too_high(path.read_text(), layer_of(path), package)
    assert not found, f"{path.relative_to(ROOT)} must not know of {', '.join(found)}"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import anyscene.engine.clock", {"engine"}),
        ("from anyscene.engine import clock", {"engine"}),
        ("from anyscene import engine as motor", {"engine"}),
        ("from ..engine import clock", {"engine"}),
        ("from .. import engine, data", {"engine"}),
        ("def late():\n    if True:\n        from anyscene.apps.main import app", {"apps"}),
        ("from anyscene.errors import DataError\nfrom . import tree\nimport numpy", set()),
    ],
)
def test_an_import_from_above_would_be_caught(code, found):
    assert too_high(code, "hierarchy", "anyscene.hierarchy") == found


def test_the_product_does_without_the_benchmarks():
    assert not [str(path) for path in MODULES if re.search(r"\b(from|import) benchmarks", path.read_text())]


def test_every_module_and_folder_has_its_place_among_the_layers():
    assert {layer_of(path) for path in MODULES} - {"__init__"} <= RANKS.keys()


def test_the_architecture_page_lists_the_layers_in_order():
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    named = [re.split(r"[/.]", name)[0] for row in rows for name in re.findall(r"`(.*?)`", row)]
    assert set(named) == RANKS.keys()
    assert named == sorted(named, key=RANKS.__getitem__)


MOST_LINES, MOST_PARAMETERS = 350, 8


@pytest.mark.parametrize("path", MODULES + BENCHMARKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_short_and_functions_take_few_parameters(path):
    code = path.read_text()
    assert len(code.splitlines()) <= MOST_LINES
    if path.is_relative_to(SOURCE / "apps"):  # a command has a parameter for each of its options
        return
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and path.name != "__main__.py":
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            count = len([name for name in names if name not in ("self", "cls")])
            assert count <= MOST_PARAMETERS, f"{node.name} takes {count} parameters"


def undocumented(code: str) -> list[str]:
    """Public functions, classes and methods without a docstring, with their lines."""

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            is_overload = any("overload" in ast.unparse(one) for one in child.decorator_list)
            if child.name.startswith("_") or is_overload:
                continue
            if not ast.get_docstring(child):
                yield f"line {child.lineno}: {prefix}{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from visit(child, f"{prefix}{child.name}.")

    return list(visit(ast.parse(code), ""))


@pytest.mark.parametrize("path", MODULES + BENCHMARKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_public_is_documented(path):
    code = path.read_text()
    assert ast.get_docstring(ast.parse(code)), f"{path.relative_to(ROOT)} does not say what it is for"
    assert not undocumented(code), f"no docstring in {path.relative_to(ROOT)}"


def test_a_missing_docstring_would_be_caught():
    code = 'class A:\n    """Documented."""\n    def b(self): ...\n    def _c(self): ...\ndef d(): ...\n'
    assert undocumented(code) == ["line 3: A.b", "line 5: d"]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["data", "--help"]])
def test_help_loads_none_of_the_heavy_libraries(arguments):
    program = (
        "import json, sys\n"
        "from anyscene.apps.main import main\n"
        "try: main()\n"
        "finally: print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    heavy = {"numba", "onnxruntime", "torch", "sklearn", "scipy", "matplotlib"}
    assert not heavy & set(json.loads(run.stderr.splitlines()[-1]))


def test_what_labels_loads_no_library_that_only_learning_needs():
    program = (
        "import sys, anyscene.streams.engine\n"
        "from anyscene.features.sets import list_feature_sets\n"
        "list_feature_sets()\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not {"sklearn", "scipy.optimize", "torch", "matplotlib", "pyarrow"} & set(loaded.split())


def test_importing_the_package_loads_nothing_that_takes_time():
    program = "import sys, anyscene; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert not {"numpy", "cv2", "PIL", "numba", "typer"} & set(loaded.split())


TOOLS_OF_USERS = {"supervision", "fiftyone", "cvat_sdk", "label_studio_sdk"}
"""Packages that are imported only for those who have them already."""


def test_every_package_that_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (needed for name, needed in project["optional-dependencies"].items() if name != "dev")
    lines = chain(project["dependencies"], *extras)
    declared = {re.match(r"[A-Za-z0-9-]+", line)[0].lower() for line in lines}
    installed = packages_distributions()
    for path in MODULES:
        for name in imported_packages(path) & installed.keys() - TOOLS_OF_USERS - {"anyscene"}:
            known = {found.lower().replace("_", "-") for found in installed[name]}
            assert known & declared, f"{path} imports {name}"


def imported_packages(path):
    """The first names of all modules that a file imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_the_product_needs_few_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[A-Za-z0-9-]+", line)[0].lower() for line in project["dependencies"]}
    agreed = {"numpy", "numba", "opencv-python-headless", "onnxruntime", "scikit-learn", "safetensors"}
    agreed |= {"pillow", "typer", "rich", "pydantic"}
    # These come with scikit-learn in any case; declaring them is honest where we import them ourselves.
    assert names - {"scipy", "threadpoolctl"} == agreed
    extras = {"models", "train", "video", "report", "server", "docs", "dev"}
    assert extras <= project["optional-dependencies"].keys()
