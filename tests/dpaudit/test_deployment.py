"""The deployment file: what it means, and one clear line for everything it must not hold."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit import Deployment, DeploymentError, DpauditError, NotBuiltError

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
embedding_dim = 768
projection_dim = 20
radius = 0.5
sampling_rate = 0.3
threshold = 30
noise_std = 2.136
sensitivity_ratio = 2.4
budget_factor = 4
"""
WHOLE = "a whole number (no point, no exponent)"
FULL = (
    TOML
    + """\
[data]
texts = "texts.csv"
column = "body"
population = 1000
zipf = 1.5
[model]
embedding = "some/model"
device = "cuda"
[audit]
trials = 1000
confidence = 0.95
seed = 7
"""
)


def tables() -> dict[str, Any]:
    """Return the smallest valid deployment."""
    return {
        "deployment": {"name": "test", "system": "fre-e2t"},
        "claim": {"epsilon": 4.0, "delta": 1e-6, "adjacency": "add-remove", "view": "public"},
        "fre_e2t": {
            "records_max": 1_000_000,
            "embedding_dim": 768,
            "projection_dim": 20,
            "radius": 0.5,
            "sampling_rate": 0.3,
            "threshold": 30,
            "noise_std": 2.136,
        },
    }


def message(tmp_path: Path, text: str | bytes) -> str:
    """Return what is said about a file, less the path in front."""
    file = tmp_path / "deployment.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DeploymentError) as caught:
        Deployment.from_toml(file)
    said = str(caught.value)
    assert "\n" not in said
    assert said.isprintable()
    prefix = f"{file}: "
    assert said.startswith(prefix)
    return said.removeprefix(prefix)


def test_all_keys_are_read(tmp_path: Path) -> None:
    file = tmp_path / "full.toml"
    file.write_text(FULL)
    deployment = Deployment.from_toml(file)
    assert deployment.claim.epsilon == 4.0
    assert isinstance(deployment.claim.epsilon, float)
    assert deployment.fre_e2t.threshold == 30
    assert deployment.fre_e2t.budget_factor == 4.0
    assert deployment.data is not None
    assert (deployment.data.column, deployment.data.zipf) == ("body", 1.5)
    assert deployment.model is not None
    assert deployment.model.device == "cuda"
    assert (deployment.audit.trials, deployment.audit.seed) == (1000, 7)
    assert deployment.directory == tmp_path


def test_defaults() -> None:
    deployment = Deployment.from_dict(tables())
    assert deployment.data is None
    assert deployment.model is None
    assert deployment.fre_e2t.sensitivity_ratio is None
    assert deployment.fre_e2t.budget_factor is None
    assert deployment.fre_e2t.projection_seed is None
    assert deployment.fre_e2t.grid_edge == 2 * 0.5 / math.sqrt(20)
    assert deployment.audit.model_dump() == {"trials": 100_000, "confidence": 0.99, "seed": None}
    given = tables() | {"model": {"embedding": "minilm"}}
    model = Deployment.from_dict(given).model
    assert model is not None
    assert model.device == "auto"


def test_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "bom.toml"
    file.write_bytes(b"\xef\xbb\xbf" + TOML.encode())
    assert Deployment.from_toml(str(file)).deployment.name == "test"


def test_frozen() -> None:
    deployment = Deployment.from_dict(tables())
    with pytest.raises(ValueError, match="frozen"):
        deployment.claim.epsilon = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "noise_std",
            "noise_sdt",
            "unknown key 'noise_sdt' in [fre_e2t]; did you mean 'noise_std'?",
        ),
        ("epsilon", "Epsilon", "unknown key 'Epsilon' in [claim]; did you mean 'epsilon'?"),
        (
            "[claim]",
            "[clam]",
            "unknown section or key 'clam'; did you mean [claim]? Sections: [deployment], [claim], "
            "[fre_e2t], [distributed], [dummies], [data], [model], [audit]",
        ),
        (
            "radius = 0.5",
            "radius = 0.5\nseed = 1",
            "unknown key 'seed' in [fre_e2t]; did you mean 'projection_seed'?",
        ),
        (
            "view = ",
            "trials = 5\nview = ",
            "unknown key 'trials' in [claim]; it belongs in [audit] (nearest key here: 'delta')",
        ),
        (
            "[deployment]",
            "epsilon = 4\n[deployment]",
            "unknown key 'epsilon' outside any section; it belongs in [claim]",
        ),
        (
            'system = "fre-e2t"',
            'system = "fre-e2t"\nxyz = 1',
            "unknown key 'xyz' in [deployment]; the nearest valid key is 'system', of name, system",
        ),
        (
            "[claim]",
            "[claim.more]\na = 1\n[claim]",
            "unknown key 'more' in [claim]; the nearest valid key is 'colluders', of epsilon, "
            "delta, adjacency, view, records_per_user, colluders, records_public",
        ),
    ],
)
def test_unknown_keys_are_named_with_the_nearest(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert message(tmp_path, TOML.replace(old, new, 1)) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("epsilon = 0", "a finite number > 0 is needed"),
        ("epsilon = -1.0", "a finite number > 0 is needed"),
        ("epsilon = nan", "a finite number > 0 is needed"),
        ("epsilon = inf", "a finite number > 0 is needed"),
        ("epsilon = true", "a finite number > 0 is needed"),
        ("epsilon = '4'", "a finite number > 0 is needed"),
        ("epsilon = [4]", "a finite number > 0 is needed"),
        ("delta = 0", "a number strictly between 0 and 1 is needed"),
        ("delta = 1", "a number strictly between 0 and 1 is needed"),
        ("sampling_rate = 0", "a number strictly between 0 and 1 is needed"),
        ("sampling_rate = 1", "a number strictly between 0 and 1 is needed"),
        ("threshold = 0", f"{WHOLE} from 1 to 10**6 is needed"),
        ("threshold = 30.0", f"{WHOLE} from 1 to 10**6 is needed"),
        ("threshold = true", f"{WHOLE} from 1 to 10**6 is needed"),
        ("records_max = 1e6", f"{WHOLE} from 1 to 10**12 is needed"),
        ("records_max = 0", f"{WHOLE} from 1 to 10**12 is needed"),
        ("noise_std = -2.136", "a finite number > 0 is needed"),
        ("noise_std = nan", "a finite number > 0 is needed"),
        ("radius = 0.0", "a finite number > 0 is needed"),
        ("sensitivity_ratio = 0", "a finite number > 0 is needed"),
        ("budget_factor = inf", "a finite number > 0 is needed"),
        ("embedding_dim = 0", f"{WHOLE} from 1 to 100000 is needed"),
        ("adjacency = 'swap'", "'add-remove' or 'replace-one' is needed"),
        ("view = 'all'", "'public', 'synthesis-server' or 'tagging-server' is needed"),
        ("system = 'other'", "'fre-e2t' is needed"),
        ("name = ''", "text of 1 to 1000 characters, on one line and not blank, is needed"),
        ("name = 3", "text of 1 to 1000 characters, on one line and not blank, is needed"),
    ],
)
def test_values_out_of_range(tmp_path: Path, line: str, said: str) -> None:
    key = line.split(" = ")[0]
    start = TOML.index(f"\n{key} = ") + 1
    end = TOML.index("\n", start)
    answer = message(tmp_path, TOML[:start] + line + TOML[end:])
    assert answer.startswith("[")
    assert f"] {line.replace('1e6', '1000000.0')}: " in answer.replace('"', "'")
    assert answer.endswith(f": {said}")


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            "[audit]\ntrials = 99",
            f"[audit] trials = 99: {WHOLE}, 100 to 10**9, is needed",
        ),
        (
            "[audit]\nconfidence = 0.5",
            "[audit] confidence = 0.5: a number strictly between 0.5 and 1 is needed",
        ),
        (
            "[audit]\nseed = -1",
            f"[audit] seed = -1: {WHOLE} from 0 to 2**63 - 1 is needed",
        ),
        (
            "[data]\ncolumn = 'a'",
            "[data] texts is missing: text of 1 to 1000 characters, on one line and not blank,",
        ),
        (
            "[data]\ntexts = 'a.txt'\nzipf = 1",
            "[data] zipf = 1.0: allowed only together with population",
        ),
        (
            "[data]\ntexts = 'a.txt'\npopulation = 0",
            f"[data] population = 0: {WHOLE} from 1 to 10**9 is needed",
        ),
        (
            "[model]\nembedding = 'm'\ndevice = 'gpu'",
            "[model] device = 'gpu': 'auto', 'cpu' or 'cuda' is needed",
        ),
        ("[[audit]]\nseed = 1", "[audit] = [{'seed': 1}]: a table of keys is needed"),
    ],
)
def test_optional_sections_are_checked(tmp_path: Path, section: str, said: str) -> None:
    assert message(tmp_path, TOML + section).startswith(said)


def test_projection_cannot_add_dimensions(tmp_path: Path) -> None:
    said = message(tmp_path, TOML.replace("projection_dim = 20", "projection_dim = 769"))
    assert said == "[fre_e2t] projection_dim = 769: at most embedding_dim = 768 is needed"


def test_missing_keys_and_sections(tmp_path: Path) -> None:
    said = message(tmp_path, TOML.replace("radius = 0.5\n", ""))
    assert said == "[fre_e2t] radius is missing: a finite number > 0"
    assert message(tmp_path, "") == "[deployment] is missing (and 2 more)"


def test_further_errors_are_counted(tmp_path: Path) -> None:
    broken = TOML.replace("threshold = 30", "threshold = 0").replace("0.3", "1.3")
    assert message(tmp_path, broken) == (
        "[fre_e2t] sampling_rate = 1.3: a number strictly between 0 and 1 is needed (and 1 more)"
    )


@pytest.mark.parametrize(
    ("section", "key", "asked"),
    [
        ("claim", "adjacency", "replace-one"),
        ("claim", "view", "tagging-server"),
        ("claim", "records_per_user", 3),
        ("claim", "colluders", 2),
    ],
)
def test_what_an_audit_cannot_measure_is_refused_by_name(
    section: str, key: str, asked: object
) -> None:
    given = tables()
    given[section][key] = asked
    deployment = Deployment.from_dict(given, source="x")
    with pytest.raises(NotBuiltError, match=f"^x: .claim. {key} = {asked!r}: audit measures"):
        deployment.require_auditable()


def test_an_audit_of_shared_noise_is_refused() -> None:
    given = tables() | {"distributed": {"granularity": 1e-4}}
    with pytest.raises(NotBuiltError, match=r"^x: \[distributed\]: audit runs central noise"):
        Deployment.from_dict(given, source="x").require_auditable()


def test_a_server_view_needs_its_dummies() -> None:
    given = tables()
    given["claim"]["view"] = "synthesis-server"
    with pytest.raises(DeploymentError, match=r"^x: .claim. view = 'synthesis-server': needs a"):
        Deployment.from_dict(given, source="x")
    built = Deployment.from_dict(given | {"dummies": {"decay": 1.0, "shift": 9}}, source="x")
    assert built.dummies is not None
    assert built.dummies.shift == 9


def test_colluders_leave_an_honest_record() -> None:
    given = tables()
    given["claim"]["colluders"] = 30
    with pytest.raises(DeploymentError, match=r"^x: .claim. colluders = 30: fewer than threshold"):
        Deployment.from_dict(given, source="x")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"distributed": {"granularity": 0.0}}, "granularity = 0.0: a finite number > 0"),
        ({"distributed": {}}, "granularity is missing"),
        ({"distributed": {"granularity": 1e-3, "bits": 3}}, "unknown key 'bits'"),
        ({"distributed": {"granularity": 1e-3, "rounding": "none"}}, "'shared' or 'independent'"),
        ({"distributed": {"granularity": 1e-3, "rotated": 1}}, "true or false"),
        ({"distributed": {"granularity": 1e-3, "modulus_bits": 1}}, "from 2 to 512"),
        ({"dummies": {"decay": 0.0, "shift": 3}}, "decay = 0.0: a number from 1e-12 to 1000"),
        ({"dummies": {"decay": 1.0, "shift": -1}}, "shift = -1"),
        ({"dummies": {"decay": 1.0}}, "shift is missing"),
    ],
)
def test_shared_noise_and_dummies_are_checked(table: dict[str, Any], said: str) -> None:
    with pytest.raises(DeploymentError) as caught:
        Deployment.from_dict(tables() | table, source="x")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe[\x00", "not UTF-8 text (byte 0)"),
        (b"\xef\xbb\xbfa = '\xe9'", "not UTF-8 text (byte 8)"),
        (b"a = ", "not TOML: Invalid value (at end of document)"),
        (b"a = 1\na = 2", "not TOML: Cannot overwrite a value (at end of document)"),
        (b"a = '\x00'", "not TOML: Found invalid character '\\x00' (at line 1, column 6)"),
        (b"a = " + b"[" * 100_000, "not TOML: nested too deeply"),
        (b"a = " + b"9" * 5000, "not TOML: a number has too many digits"),
        (b"#" * ((1 << 20) + 1), "larger than 1 MiB; not a deployment file"),
    ],
    ids=range(8),
)
def test_files_that_are_not_toml(tmp_path: Path, content: bytes, said: str) -> None:
    assert message(tmp_path, content) == said


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DeploymentError, match=r"none\.toml: cannot be read: No such file"):
        Deployment.from_toml(tmp_path / "none.toml")
    with pytest.raises(DeploymentError, match="cannot be read: Is a directory"):
        Deployment.from_toml(tmp_path)
    with pytest.raises(DeploymentError, match=r"^a\\x00b: cannot be read: "):
        Deployment.from_toml("a\0b")


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    said = message(tmp_path, TOML.replace("[claim]", '"\\u001b[31m\\nx" = 1\n[claim]'))
    assert said.startswith("unknown key '\\x1b[31m\\nx' in [deployment]")


def test_numbers_too_long_to_print(tmp_path: Path) -> None:
    said = message(tmp_path, TOML.replace("= 20", "= 0x" + "f" * 5000))
    assert said.startswith("[fre_e2t] projection_dim = (a number too long to print): a whole")


def test_default_grid_edge_must_be_finite() -> None:
    given = tables()
    given["fre_e2t"] |= {"radius": 1.7e308, "projection_dim": 1}
    with pytest.raises(DeploymentError, match="grid_edge = inf: a finite number > 0 is needed"):
        Deployment.from_dict(given)


def test_replace_checks_and_lets_defaults_follow() -> None:
    base = Deployment.from_dict(tables(), directory="/somewhere", source="x.toml")
    changed = base.replace(fre_e2t={"radius": 1.0}, audit={"trials": 500})
    assert changed.fre_e2t.grid_edge == 2 / math.sqrt(20)
    assert (changed.audit.trials, changed.audit.confidence) == (500, 0.99)
    assert changed.directory == Path("/somewhere")
    assert base.audit.trials == 100_000
    assert changed.replace(audit={"trials": None}).audit.trials == 100_000
    with pytest.raises(DeploymentError, match=r"^x\.toml: \[audit\] trials = 5: "):
        base.replace(audit={"trials": 5})
    with pytest.raises(DeploymentError, match="did you mean 'trials'"):
        base.replace(audit={"trails": 500})


def test_to_dict_gives_the_same_deployment_back() -> None:
    base = Deployment.from_dict(tables())
    assert Deployment.from_dict(base.to_dict()).to_dict() == base.to_dict()


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
)


@given(data=st.data())
def test_whatever_a_value_is_the_answer_is_a_deployment_or_one_line(data: st.DataObject) -> None:
    broken = copy.deepcopy(tables())
    section = data.draw(st.sampled_from(sorted(broken)))
    key = data.draw(st.sampled_from([*sorted(broken[section]), "other", ""]))
    broken[section][key] = data.draw(SCALARS)
    try:
        built = Deployment.from_dict(broken)
    except DpauditError as error:
        said = str(error)
    else:
        said = repr(built.claim)
        assert math.isfinite(built.fre_e2t.grid_edge)
        assert built.fre_e2t.noise_std > 0
    assert said.isprintable()
