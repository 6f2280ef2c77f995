"""What the documentation shows works: its blocks of shell and Python are run as they stand."""

import ast
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from typer.main import get_command

import anyscene
from anyscene.apps.main import app
from anyscene.engine.loading import shipped_models
from anyscene.engine.windows import PANORAMA
from anyscene.familiarity import WARNING
from anyscene.hierarchy import WORKING_LONG_SIDE
from anyscene.learning.config import TrainConfig

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NOTES = sorted((ROOT / "docs" / "research").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def runnable_blocks(text: str) -> list[tuple[str, str]]:
    """(language, code) of each block that can be run here."""
    return [
        (language, code)
        for language, marks, code in BLOCK.findall(text)
        if language in ("sh", "python")
        and "by-hand" not in marks
        and ("ANYSCENE_DATA" not in code or os.environ.get("ANYSCENE_DATA"))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}:{ROOT}")  # pages speak from the repository's root
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    Image.fromarray(anyscene.data.open("streets:1").split("all")[0].image).save(tmp_path / "street.jpg")
    namespace = {}  # the Python blocks of a page build on one another
    for language, code in runnable_blocks(page.read_text()):
        if language == "sh":
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", code], capture_output=True, text=True)
            assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        else:
            exec(compile(code, str(page), "exec"), namespace)


def commands_by_hand(text: str) -> list[list[str]]:
    """The words after `anyscene` of each command in blocks of shell that are not run here."""
    blocks = [
        code for language, marks, code in BLOCK.findall(text) if (language, marks) == ("sh", " by-hand")
    ]
    lines = [
        shlex.split(line, comments=True) for code in blocks for line in code.replace("\\\n", " ").splitlines()
    ]
    return [words[1:] for words in lines if words[:1] == ["anyscene"]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_not_run_have_the_options_that_a_page_gives_them(page):
    for words in commands_by_hand(page.read_text()):
        command, rest = get_command(app), list(words)
        while rest and rest[0] in getattr(command, "commands", {}):
            command = command.commands[rest.pop(0)]
        assert not hasattr(command, "commands") or rest == ["--version"], words
        known = {"-", *(option for parameter in command.params for option in parameter.opts)}
        assert [word for word in rest if word.startswith("-") and word not in known] == [], words


@pytest.mark.parametrize("page", PAGES + NOTES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_page_is_listed():
    index = (ROOT / "docs" / "index.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index


def test_every_research_note_has_its_date_and_is_listed():
    index = (ROOT / "docs" / "research" / "index.md").read_text()
    for note in NOTES:
        assert note.name == "index.md" or re.match(r"\d{4}-\d\d-\d\d-", note.name)
        assert note.name == "index.md" or f"({note.name})" in index, note.name


def written_names(script: str) -> list[re.Pattern[str]]:
    """The names of pictures in the code of a script, as patterns: an f-string may fill in any word."""
    names = []
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.JoinedStr):
            parts = (re.escape(v.value) if isinstance(v, ast.Constant) else r"\w+" for v in node.values)
            names.append(re.compile("".join(parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.append(re.compile(re.escape(node.value)))
    return [name for name in names if name.pattern.endswith(("png", "gif", "svg"))]


def test_every_picture_is_made_by_a_script():
    scripts = [*(ROOT / "docs" / "scripts").glob("*.py"), *(ROOT / "recipes").glob("*.py")]
    names = [name for script in scripts for name in written_names(script.read_text())]
    pictures = list((ROOT / "docs" / "images").iterdir())
    assert len(pictures) > 10
    assert [one.name for one in pictures if not any(name.fullmatch(one.name) for name in names)] == []


def test_a_picture_counts_as_made_only_if_code_names_it():
    script = '"""Writes told.png."""\nsave("made.png", f"of-{kind}.svg", f"{path}")'
    names = written_names(script)
    found = [one for one in ("made.png", "of-a.svg", "told.png") if any(n.fullmatch(one) for n in names)]
    assert found == ["made.png", "of-a.svg"]


@pytest.mark.parametrize("name", sorted(shipped_models()))
def test_every_model_that_ships_has_a_card_with_its_limits(name):
    cards = (ROOT / "docs" / "model-cards.md").read_text().split("\n## ")
    (card,) = [card for card in cards if card.startswith(f"{name}\n")]
    assert re.search(r"^\| limits \| .{40,} \|$", card, re.MULTILINE)


def test_what_a_large_photo_and_an_unfamiliar_one_get_is_told():
    cards, page = ((ROOT / "docs" / name).read_text() for name in ("model-cards.md", "engine.md"))
    items = dict(re.findall(r"^- \*\*([\w ]+)\*\*(.*?)^(?=\S)", page, re.M | re.S))
    assert f"at most {WORKING_LONG_SIDE} pixels" in cards
    assert "- Confidence " in cards
    assert f" {WORKING_LONG_SIDE} pixels" in items["Large photos"]
    assert f" {PANORAMA} times" in items["Panoramas"]
    assert f"{WARNING} the confidence means nothing" in " ".join(items["familiarity"].split())


def test_tables_of_scores_are_what_the_script_makes_of_the_figures(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    pages = ("README.md", "docs/model-cards.md")
    for name in (*pages, "docs/results.md", "docs/measured.json"):
        shutil.copy(ROOT / name, tmp_path / name)
    script = runpy.run_path(str(ROOT / "docs" / "scripts" / "tables.py"))
    monkeypatch.setitem(script["main"].__globals__, "ROOT", tmp_path)
    script["main"]()
    for name in pages:
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(), f"{name}: run the script again"


def test_the_readme_is_a_screen_and_a_half_and_begins_with_a_moving_picture():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 75
    assert re.fullmatch(r"!\[.+\]\(docs/images/street.gif\)", lines[2])
    assert {"make demo", "make test"} <= {" ".join(line.split()[:2]) for line in lines}


def test_the_settings_of_training_are_listed_with_their_defaults():
    page = (ROOT / "docs" / "learning.md").read_text()
    listed = {
        name: json.loads(default) for name, default in re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.M)
    }
    assert listed == TrainConfig().model_dump(mode="json")


def test_which_blocks_are_run(monkeypatch):
    monkeypatch.delenv("ANYSCENE_DATA", raising=False)
    blocks = [("sh", "a"), ("sh by-hand", "b"), ("json", "c"), ("python", "ANYSCENE_DATA"), ("python", "e")]
    text = "\n".join(f"```{mark}\n{code}\n```" for mark, code in blocks)
    assert runnable_blocks(text) == [("sh", "a\n"), ("python", "e\n")]
    by_hand = "```sh by-hand\nanyscene label 'a b' \\\n  --redo  # again\nls\n```\n"
    assert commands_by_hand(by_hand + by_hand.replace(" by-hand", "")) == [["label", "a b", "--redo"]]
