"""Reports of a result: JSON, one HTML page, Markdown, and tables on a terminal."""

from dpaudit.report.files import prepared_folder, write

__all__ = ["prepared_folder", "write"]
