"""Releases that an attack learned from, kept when the mechanism cannot make them again."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.engine.atomic_file import remove_partial, write_atomically
from dpaudit.engine.blocks import ReleasedBatch
from dpaudit.engine.outcomes import OUTCOMES, BlockOutcome
from dpaudit.engine.plan import Plan, Side
from dpaudit.engine.release_codec import decode, encode
from dpaudit.engine.store_lock import StoreError
from dpaudit.errors import shown


def write_training(folder: Path, batch: ReleasedBatch, *, run: str) -> None:
    """Write the releases of a batch as one JSON file, atomically.

    Parameters
    ----------
    folder : Path
        Where; it exists.
    batch : ReleasedBatch
        The releases.
    run : str
        Hash of the audit's identity.

    Raises
    ------
    ParameterError
        If a release cannot be written in JSON.
    """
    parts = [
        {
            "releases": encode(part.releases),
            "codes": None if part.codes is None else part.codes.tolist(),
            "example": part.example,
        }
        for part in batch.parts
    ]
    body = json.dumps(parts)
    content = {"run": run, "sha256": sha256(body.encode()).hexdigest(), "parts": body}
    name = f"{batch.side}-{batch.blocks.start:010d}-{batch.blocks.stop:010d}.json"
    write_atomically(folder / name, lambda file: file.write(json.dumps(content).encode()))


def read_training(folder: Path, side: Side, *, plan: Plan, run: str) -> dict[int, BlockOutcome]:
    """Read all releases of a side that a folder holds.

    Parameters
    ----------
    folder : Path
        Where; it need not exist.
    side : {"out", "in"}
        The side.
    plan : Plan
        The audit's plan.
    run : str
        Hash of the audit's identity.

    Returns
    -------
    dict
        Block -> outcome.

    Raises
    ------
    StoreError
        If a file is damaged or from another audit.
    """
    remove_partial(folder)
    found: dict[int, BlockOutcome] = {}
    for path in sorted(folder.glob(f"{side}-*.json")):
        try:
            content = json.loads(path.read_bytes())
            if content["run"] != run:
                raise StoreError(f"{shown(path, limit=200)}: from another audit; move it elsewhere")
            body = content["parts"]
            if sha256(body.encode()).hexdigest() != content["sha256"]:
                raise ValueError("its hash does not fit its content")
            first, end = (int(number) for number in path.stem.split("-")[1:])
            parts = [_outcome(part) for part in json.loads(body)]
            if len(parts) != end - first or end > plan.training:
                raise ValueError("it holds other blocks than its name says")
        except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as why:
            raise StoreError(
                f"{shown(path, limit=200)}: damaged ({shown(why)}); remove it to draw its releases "
                "again"
            ) from None
        found.update(zip(range(first, end), parts, strict=True))
    return found


def _outcome(part: dict[str, Any]) -> BlockOutcome:
    """Return one block's outcome."""
    codes = part["codes"]
    if codes is not None:
        codes = np.array(codes, dtype=np.uint8)
        if codes.size and codes.max() >= len(OUTCOMES):
            raise ValueError("it holds an unknown outcome")
    return BlockOutcome(decode(part["releases"]), codes, part["example"])
