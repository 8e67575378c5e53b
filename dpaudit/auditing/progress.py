"""Progress of an audit, on standard error, or silence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Shows one bar a stage with rate and remaining time if ``shown``."""

    shown: bool = False

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Callable[[int], None]]:
        """Open a stage of ``total`` steps; call what is yielded with the number of steps done."""
        if not self.shown:
            yield lambda _: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        with Bars(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        ) as bars:
            task = bars.add_task(name, total=total)
            yield lambda steps: bars.advance(task, steps)
