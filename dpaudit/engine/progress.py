"""Progress of an audit with rate and remaining time, on standard error, or silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    name: str, total: int, *, shown: bool, unit: str = "trials"
) -> Iterator[Callable[[int], None]]:
    """Show one phase's progress.

    Parameters
    ----------
    name : str
        The phase.
    total : int
        How many steps it has: trials of both sides together.
    shown : bool
        Whether to show anything.
    unit : str
        What the steps are.

    Yields
    ------
    callable
        To be called with the number of steps done since the last call.
    """
    if not shown or total == 0:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Steps a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.3g} {unit}/s")

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} " + unit),
        RateColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bars:
        task = bars.add_task(name, total=total)
        yield lambda done: bars.advance(task, done)
