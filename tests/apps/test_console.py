import io
import json
import os
import re

import pytest
from rich.console import Console
from rich.text import Text

from anyscene.apps import console


def rendered(renderable):
    screen = Console(file=io.StringIO(), width=120)
    screen.print(renderable)
    return screen.file.getvalue()


def test_a_table_shows_names_with_brackets_as_they_are():
    text = rendered(console.table("[red]title[/]", ("file[0]", "n"), [("a[bold].png", 3), ("[/]", 4)]))
    for name in ("[red]title[/]", "file[0]", "a[bold].png", "[/]"):
        assert name in text


def test_track_yields_every_item_and_is_silent_without_a_terminal(capsys):
    assert list(console.track([1, 2, 3], "counting [bold]")) == [1, 2, 3]
    assert list(console.track(iter("ab"), "counting", total=2)) == ["a", "b"]
    with console.busy("waiting [/]"):
        pass
    assert capsys.readouterr() == ("", "")


def test_track_shows_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(console.track([1, 2, 3], "counting [bold]")) == [1, 2, 3]
    shown = capsys.readouterr()
    assert "counting [bold]" in shown.err
    assert shown.out == ""


def test_json_goes_where_it_was_asked_for(tmp_path, capsys):
    console.emit_json({"näme": 1}, None)
    assert capsys.readouterr().out == ""
    console.emit_json({"näme": 1}, "-")
    assert json.loads(capsys.readouterr().out) == {"näme": 1}
    console.emit_json({"näme": 1}, str(tmp_path / "out.json"))
    assert json.loads((tmp_path / "out.json").read_text())["näme"] == 1


def test_json_holds_file_names_that_are_not_utf8(tmp_path, capsys):
    name = os.fsdecode(b"caf\xe9.jpg")
    console.emit_json({"path": name}, "-")
    assert json.loads(capsys.readouterr().out) == {"path": name}
    console.emit_json({"path": name}, str(tmp_path / "out.json"))
    assert json.loads((tmp_path / "out.json").read_text())["path"] == name


def test_numbers_that_json_lacks_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        console.emit_json({"value": float("nan")}, "-")


def test_a_stage_is_a_line_with_its_note_if_it_has_one(capsys):
    with console.Stages() as stages:
        stages("reading", 1, 1, "")
        stages("features", 1, 2, "left out: it is not done")
        stages("features", 2, 2, "color")
    assert capsys.readouterr().err == "reading 1/1\nfeatures 2/2: color\n"


EVIL = "\x1b]52;c;aGk=\x07\x9b2J\u202eexe.\udcff"


def test_what_commands_a_terminal_is_shown_and_not_obeyed():
    made = io.StringIO()
    screen = console.Screen(file=made, force_terminal=True, width=200)
    screen.print(console.table(EVIL, (EVIL, "n"), [(EVIL, 1)]))
    screen.print(Text.assemble((EVIL, "bold red")))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", made.getvalue())
    assert not set(shown) & set("\x1b\x07\x9b\u202e\udcff")
    assert "\\x1b]52;c;aGk=" in shown
    assert console.printable("two\nlines, ünïcode 🚗") == "two\nlines, ünïcode 🚗"


def test_json_on_a_terminal_is_harmless_and_still_json(capsys):
    console.emit_json({"name": EVIL}, "-")
    text = capsys.readouterr().out
    assert not set(text) & set("\x1b\x07\x9b\u202e\udcff")
    assert json.loads(text) == {"name": EVIL}
