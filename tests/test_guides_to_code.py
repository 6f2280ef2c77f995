"""Pages that lead through the code name what exists; functions name the equations that they stand for."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "paper.md").read_text()
WALK = (ROOT / "ARCHITECTURE.md").read_text()
TOUR = (ROOT / "docs" / "tour.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE + WALK + TOUR)))
EQUATIONS = re.findall(r"^\| (\d+) \|.*?`([\w/]+\.py)::(\w+)`", PAGE, re.MULTILINE)


def file_of(path: str) -> Path:
    name = Path(path).name
    return ROOT / ("tests" if name.startswith("test_") else "src/anyscene") / path


def definition(path: str, name: str) -> ast.AST | None:
    """The function, class or constant of that name at the top of a module."""
    for node in ast.parse(file_of(path).read_text()).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if name in (getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)):
            return node
    return None


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_what_the_pages_name_exists(path, name):
    assert file_of(path).exists(), f"a page names {path}, which is not there"
    assert definition(path, name) is not None, f"a page names {name}, which {path} does not define"


def test_the_files_of_the_tour_exist():
    files = re.findall(r"`([\w/]+\.py)", TOUR)
    assert len(files) > 20
    assert [path for path in files if not file_of(path).exists()] == []


def test_the_walk_of_a_label_call_has_at_most_ten_hops_and_the_page_two_screens():
    assert len(re.findall(r"^\d+\. ", WALK, re.MULTILINE)) <= 10
    assert len(WALK.splitlines()) <= 100


def test_the_page_has_every_equation_in_order_with_a_function_and_a_test():
    assert [int(number) for number, _, _ in EQUATIONS] == list(range(1, 12))
    rows = [line for line in PAGE.splitlines() if re.match(r"\| [\d.]+", line)]
    assert all(re.search(r"`[\w/]*test_\w+\.py::\w+`", row) for row in rows)


@pytest.mark.parametrize(("number", "path", "name"), EQUATIONS)
def test_a_function_names_the_equation_that_it_stands_for(number, path, name):
    assert re.search(rf"\bEq\. {number}\b", ast.get_docstring(definition(path, name)))
