"""Progress of an audit's trials with rate and remaining time, on standard error, or silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(name: str, trials: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show one phase's progress.

    Parameters
    ----------
    name : str
        The phase.
    trials : int
        How many trials it has, both sides together.
    shown : bool
        Whether to show anything.

    Yields
    ------
    callable
        To be called with the number of trials done since the last call.
    """
    if not shown or trials == 0:
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
        """Trials a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.3g} trials/s")

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} trials"),
        RateColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bars:
        task = bars.add_task(name, total=trials)
        yield lambda done: bars.advance(task, done)
