"""What the tests of the command line share."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TOML = """\
[deployment]
name = "test"
system = "fre-e2t"
[claim]
epsilon = 4
delta = 1e-6
adjacency = "add-remove"
view = "public"
[fre_e2t]
records_max = 1_000_000
embedding_dim = 384
projection_dim = 20
radius = 0.5
sampling_rate = 0.3
threshold = 30
noise_std = 2.136
sensitivity_ratio = 2.4
budget_factor = 4
"""
SECTIONS = """\
[data]
texts = "texts.txt"
[model]
embedding = "minilm"
[audit]
trials = 200
seed = 7
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The error line, of a run that printed nothing else."""
        assert self.code == 2
        assert self.out == ""
        assert self.err.startswith("error: ")
        assert self.err.count("\n") == 1
        return self.err[len("error: ") : -1]


Run = Callable[..., Done]


def write(folder: Path, text: str | bytes = TOML) -> Path:
    file = folder / "deployment.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def strict(text: str) -> dict[str, Any]:
    """Parse standard output as exactly one JSON object."""

    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    found = json.loads(text, parse_constant=refuse)
    assert isinstance(found, dict)
    assert text.endswith("}\n")
    return found
