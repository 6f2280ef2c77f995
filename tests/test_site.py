"""The documentation site: it builds without a warning, no link is broken, and it needs no other machine."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = ("mkdocs", "material", "mkdocstrings_handlers")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"the extra 'docs' is not installed: no {', '.join(MISSING)}"
)


class Page(HTMLParser):
    """What a page of HTML links to, loads, and offers as targets of links."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.names = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("img", "script", "iframe", "source") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") not in ("prev", "next", "canonical"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return {path: Page(path.read_text()) for path in folder.rglob("*.html")}


def broken(pages):
    """Links of pages that lead nowhere, as (page, link)."""
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if (
                parts.scheme or parts.netloc or path.name == "404.html"
            ):  # its links begin at the server's root
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].names if target in pages else set()
            if not target.exists() or (parts.fragment and target in pages and parts.fragment not in anchors):
                yield path.name, link


def test_no_link_of_the_site_is_broken(site):
    assert len(site) > 40
    assert not list(broken(site))


def test_a_broken_link_would_be_found(tmp_path):
    there = tmp_path / "there.html"
    there.write_text('<h2 id="part">Part</h2>')
    page = Page('<a href="there.html#part"></a><a href="there.html#none"></a><img src="none.png">')
    pages = {tmp_path / "here.html": page, there: Page(there.read_text())}
    assert [link for _, link in broken(pages)] == ["there.html#none", "none.png"]


def test_no_page_loads_anything_from_another_machine(site):
    for path, page in site.items():
        assert not [one for one in page.loaded if urlsplit(one).netloc], path.name


def test_every_command_has_its_help_in_the_site(site):
    from anyscene.apps.main import COMMAND_MODULES

    names = next(page.names for path, page in site.items() if path.name == "cli.html")
    for module in COMMAND_MODULES:
        assert any(name.startswith(f"anyscene-{module.replace('_', '-')}") for name in names), module


def test_every_public_name_is_in_the_python_reference():
    import anyscene

    page = (ROOT / "docs" / "python.md").read_text()
    shown = set(re.findall(r"[\w]+", page))
    assert set(anyscene.__all__) <= shown
