"""The deployment file: what is claimed, how the mechanism is set, and what to audit it with.

:class:`Deployment` is strict and frozen. An unknown key at any level, a number written as text,
NaN, infinity or a value out of range is a :class:`~dpaudit.errors.DeploymentError` whose message
names the file, the section, the key, the value and what is allowed. ``docs/deployment-file.md``
describes each key; the ``description`` of each field below is what error messages quote.
"""

from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dpaudit.errors import DeploymentError, NotBuiltError, shown
from dpaudit.strict_toml import one_line, read_toml

_WHOLE = "a whole number (no point, no exponent)"
Positive = Annotated[float, Field(gt=0, description="a finite number > 0")]
Dimension = Annotated[int, Field(ge=1, le=100_000, description=f"{_WHOLE} from 1 to 100000")]
Seed = Annotated[int, Field(ge=0, lt=2**63, description=f"{_WHOLE} from 0 to 2**63 - 1")]
OneLine = Annotated[
    str,
    Field(
        min_length=1,
        max_length=1000,
        pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$",
        description="text of 1 to 1000 characters, on one line and not blank,",
    ),
]


class Section(BaseModel):
    """Base of every section: strict types, finite numbers, no unknown key, no change later."""

    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True
    )


class Subject(Section):
    """``[deployment]``: which system is audited, and what the report calls it."""

    name: OneLine
    system: Literal["fre-e2t"] = Field(description="'fre-e2t'")


class Claim(Section):
    """``[claim]``: the guarantee that the deployment states, and for whom it is stated.

    Attributes
    ----------
    records_per_user
        How many records one user contributes; the claim is about all of them together.
    colluders
        How many users pass on what they know to whoever has the view.
    records_public
        Whether the number of users is public knowledge (the tagging server counts requests).
    """

    epsilon: Positive
    delta: float = Field(gt=0, lt=1, description="a number strictly between 0 and 1")
    adjacency: Literal["add-remove", "replace-one"] = Field(
        description="'add-remove' or 'replace-one'"
    )
    view: Literal["public", "synthesis-server", "tagging-server"] = Field(
        description="'public', 'synthesis-server' or 'tagging-server'"
    )
    records_per_user: int = Field(default=1, ge=1, le=10**6, description=f"{_WHOLE}, 1 to 10**6,")
    colluders: int = Field(default=0, ge=0, le=10**6, description=f"{_WHOLE}, 0 to 10**6,")
    records_public: bool = Field(default=False, description="true or false")


class FreE2T(Section):
    """``[fre_e2t]``: the parameters of the mechanism, in the notation of the Fre-E2T paper.

    Attributes
    ----------
    records_max
        N, a public upper bound on the number of records.
    embedding_dim, projection_dim
        d and k, the dimensions before and after the random projection.
    radius
        r, the neighbourhood radius in the embedding space.
    grid_edge
        L, the edge of a grid cell after the projection; ``2 r / sqrt(k)`` unless given.
    sampling_rate, threshold
        p, and tau: a bucket is released when its sampled count is at least tau.
    noise_std
        sigma, the standard deviation of the noise on a bucket's embedding sum, per coordinate.
    sensitivity_ratio, budget_factor
        u and v, which only the paper's own analysis uses; None if not given.
    projection_seed
        Fixes the public projection and offset; None draws a fresh one.
    """

    records_max: int = Field(ge=1, le=10**12, description=f"{_WHOLE} from 1 to 10**12")
    embedding_dim: Dimension
    projection_dim: Dimension
    radius: Positive
    grid_edge: Positive = Field(
        default_factory=lambda given: 2 * given["radius"] / sqrt(given["projection_dim"])
    )
    sampling_rate: float = Field(gt=0, lt=1, description="a number strictly between 0 and 1")
    threshold: int = Field(ge=1, le=10**6, description=f"{_WHOLE} from 1 to 10**6")
    noise_std: Positive
    sensitivity_ratio: Positive | None = Field(default=None, description="a finite number > 0")
    budget_factor: Positive | None = Field(default=None, description="a finite number > 0")
    projection_seed: Seed | None = Field(default=None, description=f"{_WHOLE} from 0 to 2**63 - 1")

    @model_validator(mode="after")
    def _projects_down(self) -> Self:
        if self.projection_dim > self.embedding_dim:
            raise _cross_field(
                f"projection_dim = {self.projection_dim}: "
                f"at most embedding_dim = {self.embedding_dim} is needed"
            )
        return self


class Distributed(Section):
    """``[distributed]``: noise that the contributors share, on integers.

    Attributes
    ----------
    granularity
        g, what the integers count, in the unit of the embeddings.
    rounding
        One public dither for all, or each user's own randomised rounding.
    local_noise
        Local variance ``noise_std**2 / threshold``, or ``noise_std**2`` over the broadcast count.
    rotated
        Whether vectors are padded to a power of two for a Walsh-Hadamard rotation.
    modulus_bits, norm_bound
        Width of the integers that are summed, and the largest norm of an embedding: they decide
        how likely a sum wraps around, which costs accuracy, not privacy.
    tag_requests
        Who asks the tagging server for a tag.
    """

    granularity: Positive
    rounding: Literal["shared", "independent"] = Field(
        default="shared", description="'shared' or 'independent'"
    )
    local_noise: Literal["threshold", "count"] = Field(
        default="threshold", description="'threshold' or 'count'"
    )
    rotated: bool = Field(default=True, description="true or false")
    modulus_bits: int | None = Field(
        default=None, ge=2, le=512, description=f"{_WHOLE} from 2 to 512"
    )
    norm_bound: float = Field(default=1.0, gt=0, description="a finite number > 0")
    tag_requests: Literal["all", "sampled"] = Field(default="all", description="'all' or 'sampled'")


class Dummies(Section):
    """``[dummies]``: dummy tags, a truncated Laplace number in each cell below the threshold.

    Attributes
    ----------
    decay, shift
        lambda and t of the law A exp(-lambda |x - t|) on 0 .. 2 t.
    """

    decay: float = Field(ge=1e-12, le=1e3, description="a number from 1e-12 to 1000")
    shift: int = Field(ge=0, le=10**9, description=f"{_WHOLE} from 0 to 10**9")


class Data(Section):
    """``[data]``: the texts, and how many simulated users draw from them.

    Attributes
    ----------
    texts
        A .txt, .csv, .jsonl or .parquet file, relative to the deployment file, or a bundled name.
    column
        The column (or JSON key) that holds the text; ``text`` unless given.
    population
        Number of simulated users, each with one text; None takes every text once, as it stands.
    zipf
        Exponent s of the simulated frequencies, proportional to ``1 / rank**s``.
    """

    texts: OneLine
    column: OneLine | None = Field(
        default=None, description="text of 1 to 1000 characters, on one line and not blank,"
    )
    population: int | None = Field(
        default=None, ge=1, le=10**9, description=f"{_WHOLE} from 1 to 10**9"
    )
    zipf: float | None = Field(default=None, ge=0, le=10, description="a number from 0 to 10")

    @model_validator(mode="after")
    def _zipf_has_a_population(self) -> Self:
        if self.zipf is not None and self.population is None:
            raise _cross_field(f"zipf = {self.zipf}: allowed only together with population")
        return self


class Model(Section):
    """``[model]``: the embedding model (hub id, local folder or bundled name) and its device."""

    embedding: OneLine
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|cuda)$",
        description="'auto', 'cpu' or 'cuda'",
    )


class Audit(Section):
    """``[audit]``: the size of the experiment, and how sure its findings must be.

    Attributes
    ----------
    trials
        Trials on each side, canary in and canary out.
    confidence
        One-sided, for the whole family of tests that can change the verdict.
    seed
        Makes the experiment repeatable, and marks it as an experiment; None uses fresh randomness.
    """

    trials: int = Field(default=100_000, ge=100, le=10**9, description=f"{_WHOLE}, 100 to 10**9,")
    confidence: float = Field(
        default=0.99, gt=0.5, lt=1, description="a number strictly between 0.5 and 1"
    )
    seed: Seed | None = Field(default=None, description=f"{_WHOLE} from 0 to 2**63 - 1")


class Deployment(Section):
    """One deployment, as read from its file.

    Build it with :meth:`from_toml` or :meth:`from_dict`, which report errors in one line.
    ``distributed``, ``dummies``, ``data`` and ``model`` are None where the file has no such
    section; ``audit`` has defaults.
    """

    deployment: Subject
    claim: Claim
    fre_e2t: FreE2T
    distributed: Distributed | None = None
    dummies: Dummies | None = None
    data: Data | None = None
    model: Model | None = None
    audit: Audit = Audit()

    @model_validator(mode="after")
    def _view_is_set_up(self) -> Self:
        if self.claim.view == "synthesis-server" and self.dummies is None:
            raise _cross_field(
                "[claim] view = 'synthesis-server': needs a section [dummies] (shift = 0 for none)"
            )
        if self.claim.colluders >= self.fre_e2t.threshold:
            raise _cross_field(
                f"[claim] colluders = {self.claim.colluders}: fewer than "
                f"threshold = {self.fre_e2t.threshold} are needed"
            )
        return self

    _directory: Path = PrivateAttr(default=Path())
    _source: str = PrivateAttr(default="deployment")

    @property
    def directory(self) -> Path:
        """Folder against which relative paths in the file are resolved."""
        return self._directory

    @property
    def source(self) -> str:
        """Name by which messages call the file: its path as it was given."""
        return self._source

    @classmethod
    def from_toml(cls, path: Path | str) -> Self:
        """Read a deployment file.

        Parameters
        ----------
        path : Path or str
            A UTF-8 TOML file; relative paths inside it count from the folder that holds it.

        Raises
        ------
        DeploymentError
            If the file cannot be read or something in it is not allowed.
        """
        file = Path(path)
        return cls.from_dict(read_toml(file), directory=file.parent, source=shown(file, limit=200))

    @classmethod
    def from_dict(
        cls,
        tables: Mapping[str, Any],
        *,
        directory: Path | str = ".",
        source: str = "deployment",
    ) -> Self:
        """Check ``tables``, laid out like the file, and return the deployment.

        Parameters
        ----------
        tables : mapping
            Section name to a mapping of keys.
        directory : Path or str
            Folder against which relative paths are resolved.
        source : str
            What messages call the origin of the values.

        Raises
        ------
        DeploymentError
            As for :meth:`from_toml`.
        """
        try:
            built = cls.model_validate(tables)
        except ValidationError as error:
            raise DeploymentError(f"{source}: {one_line(error, cls)}") from None
        built._directory = Path(directory)
        built._source = source
        return built

    def require_auditable(self) -> None:
        """Check that ``audit`` can run what the deployment claims.

        Raises
        ------
        NotBuiltError
            If it claims more than the public view of one added or removed record with central
            noise, which is what the pipeline runs and the attacks measure.
        """
        claim = self.claim
        for key, wanted in (
            ("adjacency", "add-remove"), ("view", "public"), ("records_per_user", 1),
            ("colluders", 0),
        ):  # fmt: skip
            if (asked := getattr(claim, key)) != wanted:
                raise NotBuiltError(
                    f"{self.source}: [claim] {key} = {asked!r}: audit measures {wanted!r} only; "
                    "verify and calibrate take it"
                )
        if self.distributed is not None:
            raise NotBuiltError(
                f"{self.source}: [distributed]: audit runs central noise only; verify and "
                "calibrate take it"
            )

    def replace(self, **sections: Mapping[str, Any]) -> Self:
        """Return a copy with some keys changed, checked like a file.

        Parameters
        ----------
        **sections : mapping
            New values by section: ``deployment.replace(audit={"trials": 1000})``. A key set to
            None goes back to its default; a default that was never set follows the new values.

        Raises
        ------
        DeploymentError
            If a new value is not allowed.
        """
        tables = self.model_dump(exclude_unset=True)
        for name, values in sections.items():
            merged = {**(tables.get(name) or {}), **values}
            tables[name] = {key: value for key, value in merged.items() if value is not None}
        return self.from_dict(tables, directory=self._directory, source=self._source)

    def to_dict(self) -> dict[str, Any]:
        """Return the deployment laid out like the file, defaults filled in, without Nones."""
        return self.model_dump(exclude_none=True)


def _cross_field(text: str) -> PydanticCustomError:
    return PydanticCustomError("cross_field", "{text}", {"text": text})
