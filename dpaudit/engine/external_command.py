"""An external program as the mechanism: data in, releases out as JSON lines, no shell.

The program is started once for a number of trials. Its standard input is one JSON object,
``{"data": ..., "trials": n, "seed": s}``; it prints one JSON value a trial, each on a line of its
own, in order. ``s`` is a whole number below 2^63 from the block's generator: a program that draws
all its randomness from it is seedable.

With ``trials_per_run = 1``, the default, a run that crashes, takes too long or prints something
else is one failed trial, an outcome. With more, a run that fails is lost with all its trials, which
count against the audit (see :mod:`dpaudit.engine.outcomes`).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from accountants.ranges import positive, positive_integer
from dpaudit.engine.outcomes import BlockOutcome, Failure, block_outcome
from dpaudit.errors import ParameterError, shown

_TAIL = 300  # characters of standard error that a failure repeats


@dataclass(frozen=True)
class ExternalCommand:
    """A program to be audited.

    Parameters
    ----------
    command : tuple of str
        Program and arguments; run as they are, without a shell.
    timeout : float
        Seconds that one run may take, > 0.
    trials_per_run : int
        Trials asked of one run, >= 1.
    seedable : bool
        Whether the program draws all its randomness from ``seed``.
    version : str, optional
        A name for this state of the program, which its command does not show.

    Raises
    ------
    ParameterError
        If a value is not allowed.
    """

    command: tuple[str, ...]
    _: KW_ONLY
    timeout: float = 60.0
    trials_per_run: int = 1
    seedable: bool = False
    version: str | None = None
    fixed_shape: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the values."""
        given: Any = self.command
        if isinstance(given, str) or not all(isinstance(part, str) for part in given):
            raise ParameterError(
                f"command = {shown(given)!r}: a list of program and arguments is needed"
            )
        object.__setattr__(self, "command", tuple(self.command))
        if not self.command:
            raise ParameterError("command = (): a program is needed")
        positive("timeout", self.timeout)
        positive_integer("trials_per_run", self.trials_per_run)

    @property
    def preferred_block(self) -> int:
        """Trials in a block: of one run, or of a few short ones."""
        return self.trials_per_run if self.trials_per_run > 1 else 16

    @property
    def preferred_batch(self) -> int:
        """One block."""
        return self.preferred_block

    def run(self, data: Any, trials: int, rng: np.random.Generator) -> BlockOutcome:
        """Make releases, by as many runs as it takes.

        Parameters
        ----------
        data : object
            What `json.dumps` takes.
        trials : int
            How many releases.
        rng : numpy.random.Generator
            Gives each run its seed.

        Returns
        -------
        BlockOutcome
            Each failed run of one trial is a failure; one of several trials loses the block.
        """
        released: list[Any] = []
        while len(released) < trials:
            asked = min(self.trials_per_run, trials - len(released))
            found = self._once(data, asked, int(rng.integers(2**63)))
            if isinstance(found, Failure):
                if self.trials_per_run > 1:
                    return BlockOutcome.lost(found, trials)
                found = [found]
            released += found
        return block_outcome(released, trials)

    def _once(self, data: Any, trials: int, seed: int) -> list[Any] | Failure:
        """Run the program once."""
        given = json.dumps({"data": data, "trials": trials, "seed": seed})
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as problem:
            raise ParameterError(
                f"{shown(self.command[0])}: cannot be started: {problem.strerror}"
            ) from None
        try:
            out, err = process.communicate(given.encode(), timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return Failure("timeout", f"no answer within {self.timeout:g} s")
        finally:
            if process.returncode is None:  # also what it has started
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode != 0:
            said = err.decode(errors="replace").strip()[-_TAIL:]
            return Failure("crash", f"exit code {process.returncode}: {said}")
        lines = out.decode(errors="replace").splitlines()
        if len(lines) != trials:
            return Failure("malformed", f"{len(lines)} lines for {trials} trials")
        try:
            return [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            return Failure("malformed", "a line that is not JSON")
