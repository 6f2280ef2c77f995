"""`anyscene compare`: reports side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyscene.apps.console import check_outputs, console, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT…", help="Folders that `anyscene evaluate` wrote, or their results."),
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Also write a page (HTML) to look at.")
    ] = None,
) -> None:
    """Put reports side by side: every system's scores and the headline figures of each."""
    from anyscene.evaluation.compare import comparison, comparison_page
    from anyscene.evaluation.results_file import RESULTS, read_results
    from anyscene.files import write_atomically

    check_outputs(None, out, inputs=[*reports, *(path / RESULTS for path in reports)])
    documents = {str(path): read_results(path) for path in reports}
    for made in comparison(documents):
        console().print(table(made.title, made.columns, made.rows))
    if out is not None:
        page = comparison_page(documents)
        with write_atomically(out) as file:
            file.write(page.encode())
        console().print(f"wrote {out}", markup=False, soft_wrap=True)
