"""The documentation: links lead somewhere, deployments in it are valid, Python in it runs."""

import re
import tomllib
from pathlib import Path

import pytest

from dpaudit import Deployment
from dpaudit.asset_registry import ASSETS
from dpaudit.deployment import Data
from dpaudit.strict_toml import _section

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
EXAMPLES = ("paper-eps4", "paper-eps8", "paper-eps16", "two-servers", "bundled", "broken")


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return [body for info, body in FENCE.findall(text(page)) if info.split()[:1] == [language]]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, made as code forges make them."""
    prose = FENCE.sub("", text(page))
    headings = re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", text(page))):
        if re.match(r"https?://|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{page.name}: {target}"
        assert file.is_relative_to(ROOT), f"{page.name}: {target} leaves the repository"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: no heading for {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_deployments_are_valid(page: Path) -> None:
    for block in blocks(page, "toml"):
        tables = tomllib.loads(block)
        if "claim" in tables:
            assert Deployment.from_dict(tables).deployment.name


def test_there_is_a_deployment_to_check() -> None:
    (block,) = blocks(ROOT / "docs" / "deployment-file.md", "toml")
    tables = tomllib.loads(block)
    # It shows every key there is, each of which also has a row in a table below.
    sections = {name: set(_section(Deployment, name).model_fields) for name in tables}
    assert {name: set(keys) for name, keys in tables.items()} == sections
    assert sections.keys() == Deployment.model_fields.keys()
    page = text(ROOT / "docs" / "deployment-file.md")
    for name, keys in sections.items():
        part = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE) == list(
            _section(Deployment, name).model_fields
        )
        assert len(keys) > 0


def test_python_in_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    (block,) = blocks(ROOT / "README.md", "python")
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("proved ")


def test_the_readme_has_two_commands_of_one_line() -> None:
    found = dict(
        re.findall(r"<!-- command: (\w+) -->\n```sh\n([^\n]+)\n```", text(ROOT / "README.md"))
    )
    assert sorted(found) == ["demo", "test"]
    for command in found.values():
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install")


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_valid(name: str) -> None:
    deployment = Deployment.from_toml(ROOT / "examples" / f"{name}.toml")
    assert deployment.deployment.name == name
    assert (deployment.data is None) == name.startswith(("paper", "two"))
    assert (deployment.model is None) == name.startswith(("paper", "two"))


def test_no_other_example_and_what_the_broken_one_breaks() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*.toml")} == set(EXAMPLES)
    good = Deployment.from_toml(ROOT / "examples" / "paper-eps4.toml")
    broken = Deployment.from_toml(ROOT / "examples" / "broken.toml")
    assert broken.fre_e2t.noise_std == pytest.approx(good.fre_e2t.noise_std / 10)
    assert broken.claim == good.claim
    changed = {"noise_std", "embedding_dim"}
    assert broken.fre_e2t.model_dump(exclude=changed) == good.fre_e2t.model_dump(exclude=changed)


def test_every_asset_is_documented() -> None:
    page = text(ROOT / "docs" / "installing.md")
    for asset in ASSETS.values():
        assert f"| `{asset.name}` |" in page
        assert f"`{asset.downloads[0].name}" in page
        assert f"=={asset.version}`" in page
        assert f"| {asset.download_size / 1e6:.1f} MB |" in page


def test_descriptions_say_what_is_allowed() -> None:
    for name in Deployment.model_fields:
        for key, field in _section(Deployment, name).model_fields.items():
            assert field.description, f"[{name}] {key}"
    assert Data.model_fields["zipf"].description == "a number from 0 to 10"
