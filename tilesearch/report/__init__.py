"""What answers look like: tables for the terminal, markdown, CSV and JSON. Nothing is computed here."""

from tilesearch.report.base import Format, Records, Report, json_report, render

__all__ = ["Format", "Records", "Report", "json_report", "render"]
