"""The report of an evaluation: figures, and one page to look at."""

from anyscene.evaluation.report.page import write_report

__all__ = ["write_report"]
