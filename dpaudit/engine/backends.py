"""Where batches are run: in this process, or in others through joblib.

A batch is a function of the experiment and of its number, so no result depends on who runs it.
Counts or scores travel back, releases only where an attack learns from them. Nothing is written to
disk on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from accountants.ranges import positive_integer
from dpaudit.engine.blocks import Experiment
from dpaudit.engine.plan import Side
from dpaudit.errors import DpauditError, ParameterError, shown

Result = TypeVar("Result")
Task = tuple[Side, range]

_EXTRAS = {"dask": "distributed", "ray": "ray.util.joblib"}
BACKENDS = ("inprocess", "loky", "threading", *_EXTRAS)
_ROUND = 4  # batches a worker in a round, where a backend returns a round at a time


class BackendError(DpauditError):
    """Batches could not be run: a worker died, or what it needs cannot be sent to it."""


@dataclass(frozen=True, kw_only=True)
class Backend:
    """How batches are run.

    Parameters
    ----------
    name : {"loky", "inprocess", "threading", "dask", "ray"}
        joblib's backend; "inprocess" uses none, for a mechanism on a GPU. "dask" needs a
        ``distributed.Client`` made beforehand, "ray" starts or joins ray.
    workers : int
        Number of workers; 1 with "loky" or "threading" runs in this process.

    Raises
    ------
    ParameterError
        If the name is unknown, its package is not installed, or the number is not >= 1.
    """

    name: str = "loky"
    workers: int = 1

    def __post_init__(self) -> None:
        """Check name and number, and that the package is there."""
        positive_integer("workers", self.workers)
        if self.name not in BACKENDS:
            raise ParameterError(
                f"backend = {shown(self.name)!r}: allowed are {', '.join(BACKENDS)}"
            )
        if self.name == "inprocess" and self.workers != 1:
            raise ParameterError(f"workers = {self.workers}: backend 'inprocess' has 1")
        if self.name in _EXTRAS:
            try:
                import_module(_EXTRAS[self.name])
            except ImportError:
                raise ParameterError(
                    f"backend = {self.name!r}: it needs a package that is not installed: "
                    f"pip install 'dpaudit[{self.name}]'"
                ) from None

    @property
    def here(self) -> bool:
        """Whether batches run in this process, on the objects themselves."""
        return self.name == "inprocess" or (self.workers == 1 and self.name not in _EXTRAS)

    def run(
        self,
        function: Callable[[Experiment, Side, range], Result],
        experiment: Experiment,
        tasks: Iterable[Task],
    ) -> Iterator[Result]:
        """Run a function over batches.

        Parameters
        ----------
        function : callable
            ``function(experiment, side, blocks)``, of this package.
        experiment : Experiment
            What it works on.
        tasks : iterable of (side, blocks)
            The batches; taken as they are needed.

        Yields
        ------
        object
            Results, in any order.

        Raises
        ------
        BackendError
            If a worker dies or the experiment cannot be sent.
        """
        if self.here:
            yield from (function(experiment, side, blocks) for side, blocks in tasks)
            return
        yield from self._run_elsewhere(function, experiment, iter(tasks))

    def _run_elsewhere(
        self,
        function: Callable[[Experiment, Side, range], Result],
        experiment: Experiment,
        tasks: Iterator[Task],
    ) -> Iterator[Result]:
        if self.name == "dask":
            yield from _on_dask(function, experiment, tasks, self.workers)
            return
        from joblib import Parallel, delayed

        if self.name != "threading":
            _refuse_unsendable(experiment)
        call = delayed(function)
        with _registered(self.name), _one_line_errors():
            streams = self.name != "ray"
            options: dict[str, Any] = {"return_as": "generator_unordered"} if streams else {}
            parallel = Parallel(
                n_jobs=self.workers, backend=self.name, batch_size=1, max_nbytes=None, **options
            )
            if streams:
                yield from parallel(call(experiment, *task) for task in tasks)
                return
            while some := list(islice(tasks, _ROUND * self.workers)):
                yield from parallel(call(experiment, *task) for task in some)


def _refuse_unsendable(experiment: Experiment) -> None:
    """Say in one line that something cannot be sent to another process."""
    import cloudpickle

    try:
        cloudpickle.dumps(experiment)
    except Exception as problem:
        raise BackendError(
            "mechanism, attack or data cannot be sent to another process "
            f"({type(problem).__name__}: {shown(problem)}); take workers=1"
        ) from None


@contextmanager
def _registered(name: str) -> Iterator[None]:
    """Make ray known to joblib; the others it knows."""
    if name == "ray":
        from ray.util.joblib import register_ray

        register_ray()
    yield


def _on_dask(
    function: Callable[[Experiment, Side, range], Result],
    experiment: Experiment,
    tasks: Iterator[Task],
    workers: int,
) -> Iterator[Result]:
    """Run batches on the cluster of the current ``distributed.Client``, a few a worker ahead."""
    from distributed import as_completed, default_client

    try:
        client = default_client()
    except ValueError:
        raise ParameterError(
            "backend = 'dask': a distributed.Client is needed before the audit begins"
        ) from None
    kept = client.scatter(experiment, broadcast=True, hash=False)

    def submitted(task: Task) -> Any:
        return client.submit(function, kept, *task, pure=False)

    running = as_completed([submitted(task) for task in islice(tasks, _ROUND * workers)])
    for future in running:
        yield future.result()
        for task in islice(tasks, 1):
            running.add(submitted(task))


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn the death of a worker into one line."""
    from joblib.externals.loky.process_executor import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise BackendError(
            "a worker process died while it ran the mechanism (out of memory, or a crash of native "
            "code); run it as an ExternalCommand, in which a crash is an outcome that is counted"
        ) from None
