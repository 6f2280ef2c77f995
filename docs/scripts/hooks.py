"""What MkDocs does beside reading docs/: the pages at the repository's root, and the commands' help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.main import get_command
from typer.testing import CliRunner

from anyscene.apps.main import app

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "NOTICE": "project/notice.md",
}
"""Files that people look for at the root of a repository, and where they are in the site."""

COMMANDS = "<!-- commands -->"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root."""
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text()
        text = text if name.endswith(".md") else "\n".join(["# Terms of data and weights", "", text])
        files.append(File.generated(config, page, content=from_root(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fill in the commands, and let links and code blocks be what MkDocs expects."""
    for name, page in ROOT_PAGES.items():
        markdown = markdown.replace(f"](../{name}", f"]({page}").replace(f"](../../{name}", f"](../{page}")
    markdown = markdown.replace("](../README.md", "](index.md")
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, all_commands())
    return re.sub(r"^```(\w+) by-hand$", r"```\1", markdown, flags=re.MULTILINE)


def from_root(text: str) -> str:
    """A page of the root with its links as seen from project/."""
    text = text.replace("](docs/", "](../")
    for name, page in ROOT_PAGES.items():
        text = text.replace(f"]({name}", f"](../{page}")
    return text.replace("](README.md", "](../index.md")


def all_commands() -> str:
    """The help of every command, a section each."""
    return "\n\n".join(
        f"## anyscene {' '.join(words)}\n\n```text\n{help_of(words)}\n```"
        for words in names_of(get_command(app))
    )


def names_of(command: Any) -> list[list[str]]:
    """The words that name each command, those of groups with the group's name before them."""
    inner = getattr(command, "commands", {})
    return [[name, *rest] for name, child in inner.items() for rest in names_of(child) or [[]]]


def help_of(words: list[str]) -> str:
    """What a command says of itself, as wide as a page."""
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    return "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())
