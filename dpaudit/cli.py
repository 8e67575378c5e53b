"""The command line: ``dpaudit verify``, ``calibrate``, ``curve``, ``audit`` and the rest.

The answer goes to standard output, everything else to standard error. Exit codes: 0 proved (or
feasible, or done), 1 refuted or violated, 3 open (or infeasible), 2 bad usage or input, 130
interrupted, 141 the reader of the output went away, 70 a bug in dpaudit (with a traceback).
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeAlias

import typer

import dpaudit
from dpaudit.cli_output import (
    answer,
    failed,
    head,
    honest_exit,
    print_answer,
    print_json,
    printed,
    quiet_stdout,
)

DEFAULT_OUT = Path("dpaudit-report")

_PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}
app = typer.Typer(
    name="dpaudit",
    help="""Audit differential-privacy claims: what a deployment guarantees, what an adversary
    achieves, and a verdict.

    \b
    Examples:
      dpaudit verify examples/paper-eps4.toml
      dpaudit calibrate examples/paper-eps4.toml --epsilon 4 --delta 1e-6
      dpaudit curve examples/paper-eps4.toml --out curve.svg
      dpaudit audit examples/bundled.toml --out report
      dpaudit estimate scores.csv --delta 1e-5
      dpaudit check mymodule:mechanism --epsilon 1
      dpaudit assets list

    \b
    Exit codes:
      0  proved       1  refuted, or the implementation violates its analysis
      3  open         2  bad usage or input""",
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **_PLAIN,
)
assets_app = typer.Typer(
    help="""List or fetch optional models and texts.

    \b
    Examples:
      dpaudit assets list
      dpaudit assets get mpnet""",
    no_args_is_help=True,
    **_PLAIN,
)
app.add_typer(assets_app, name="assets")

File: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="A deployment file (TOML).", show_default=False)
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.")
]


def main() -> NoReturn:
    """Run the command line with the arguments of the process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # a stream that somebody replaced
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    with honest_exit():
        app(prog_name="dpaudit")
    raise SystemExit(0)


def _version(wanted: bool) -> None:
    if wanted:
        with honest_exit():
            print(f"dpaudit {dpaudit.__version__}", flush=True)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Hold the options of dpaudit itself."""


@app.command("verify")
def verify_command(file: File, json: Json = False) -> None:
    """Say what a deployment guarantees: no data, no model, no attack.

    Answers proved (exit code 0) or open (3); it never refutes.

    \b
    Examples:
      dpaudit verify examples/paper-eps4.toml
      dpaudit verify examples/paper-eps4.toml --json
    """  # noqa: D301
    with honest_exit():
        with quiet_stdout():
            result = dpaudit.verify(dpaudit.Deployment.from_toml(file))
        answer(result, json=json)


@app.command("calibrate")
def calibrate_command(
    file: File,
    epsilon: Annotated[float, typer.Option(help="Target epsilon, > 0.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Target delta, in (0, 1).", show_default=False)],
    json: Json = False,
) -> None:
    """Find the smallest noise_std for a target, by the paper and by the tight accounting.

    Exit code 0, or 3 if no noise suffices.

    \b
    Example:
      dpaudit calibrate examples/paper-eps4.toml --epsilon 4 --delta 1e-6
    """  # noqa: D301
    with honest_exit():
        with quiet_stdout():
            deployment = dpaudit.Deployment.from_toml(file)
            result = dpaudit.calibrate(deployment, epsilon=epsilon, delta=delta)
        answer(result, json=json)


@app.command("curve")
def curve_command(
    file: File,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="A .svg drawing or a .csv table to write.", show_default=False
        ),
    ],
    json: Json = False,
) -> None:
    """Draw the whole guarantee: delta(epsilon) and the trade-off beta(alpha), paper and tight.

    \b
    Examples:
      dpaudit curve examples/paper-eps4.toml --out curve.svg
      dpaudit curve examples/paper-eps4.toml --out curve.csv
    """  # noqa: D301
    with honest_exit():
        from dpaudit.report.curve_files import checked_target, write_curves

        with quiet_stdout():
            target = checked_target(out)
            from dpaudit.guarantee_curves import guarantee_curves

            result = guarantee_curves(dpaudit.Deployment.from_toml(file))
            write_curves(result, target)
        if json:
            print_json(result)
        else:
            printed(lambda: print(target))


@app.command("audit")
def audit_command(
    file: File,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for result.json, report.html, report.md.")
    ] = DEFAULT_OUT,
    trials: Annotated[
        int | None,
        typer.Option(
            min=100,
            max=10**9,
            help="Trials on each side; the file's unless given.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that run trials.")] = 1,
    store: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder that keeps the trials.", show_default=False),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on with what --store holds.")] = False,
    json: Json = False,
) -> None:
    """Verify a deployment, run it on its texts with its model, attack it, and report.

    Exit code 0 proved, 1 refuted or violated, 3 open.

    \b
    Examples:
      dpaudit audit examples/bundled.toml --out report
      dpaudit audit examples/bundled.toml --trials 20000 --json
    """  # noqa: D301
    with honest_exit():
        from dpaudit.report import prepared_folder, write

        with quiet_stdout():
            deployment = dpaudit.Deployment.from_toml(file)
            with prepared_folder(out) as folder:
                result = dpaudit.audit(
                    deployment,
                    trials=trials,
                    workers=workers,
                    store=store,
                    resume=resume,
                    progress=True,
                )
            unwritten: SystemExit | None = None
            try:
                write(result, folder)
            except dpaudit.InputError as error:
                unwritten = failed(str(error))  # what was computed is shown all the same
        print_answer(result, json=json, written=None if unwritten else folder / "report.html")
        raise unwritten or typer.Exit(int(result["exit_code"]))


@app.command("estimate")
def estimate_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Scores of an attack: .csv or .parquet (columns score and member), or .npy.",
            show_default=False,
        ),
    ],
    delta: Annotated[float, typer.Option(help="The delta of the bound, 0 to 1.")] = 0.0,
    confidence: Annotated[float, typer.Option(help="One-sided, above 0.5 and below 1.")] = 0.95,
    score: Annotated[
        str | None, typer.Option(help="Name of the score column.", show_default="score")
    ] = None,
    member: Annotated[
        str | None,
        typer.Option(help="Name of the column with 1 (in) or 0 (out).", show_default="member"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the shuffle of the rows.")] = 0,
    json: Json = False,
) -> None:
    """Bound epsilon from below by anyone's attack scores: one row a trial, higher means in.

    \b
    Examples:
      dpaudit estimate scores.csv --delta 1e-5
      dpaudit estimate scores.parquet --score loss --member trained --json
    """  # noqa: D301
    with honest_exit():
        with quiet_stdout():
            from dpaudit.score_estimation import estimate_file

            result = estimate_file(
                file,
                delta=delta,
                confidence=confidence,
                seed=seed,
                score_column=score,
                member_column=member,
            )
        if json:
            print_json(result)
            return
        lines = [result["sentence"], "This rests on:"]
        lines += [f"- {text}" for text in result["epsilon"]["assumptions"]]
        printed(lambda: print("\n".join(lines)))


@app.command("check")
def check_command(
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="f(data), f(data, rng) or f(data, trials, rng); the module is imported.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="The claim, 0 or more.", show_default=False)],
    delta: Annotated[float, typer.Option(help="The claim's delta, 0 to 1.")] = 0.0,
    data_in: Annotated[str, typer.Option("--in", help="Input with the canary, as JSON.")] = "1",
    data_out: Annotated[
        str, typer.Option("--out", help="Its neighbour without it, as JSON.")
    ] = "0",
    trials: Annotated[int, typer.Option(min=10, max=10**9, help="On each input.")] = 100_000,
    confidence: Annotated[float, typer.Option(help="One-sided, 0.5 to 1 - 1e-9.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of all trials.")] = 0,
    form: Annotated[
        str, typer.Option(help="auto, block, seeded or unseeded: how it is called.")
    ] = "auto",
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    json: Json = False,
) -> None:
    """Audit a Python callable as a black box: run it on two inputs, attack, and compare.

    Exit code 1 refuted, 3 open; it never proves.

    \b
    Examples:
      dpaudit check mymodule:mechanism --epsilon 1
      dpaudit check mymodule:mechanism --epsilon 1 --in "[1, 1]" --out "[1]"
    """  # noqa: D301
    with honest_exit():
        with quiet_stdout():
            from dpaudit.callable_check import check_callable

            result = check_callable(
                mechanism,
                epsilon=epsilon,
                delta=delta,
                data_in=data_in,
                data_out=data_out,
                trials=trials,
                confidence=confidence,
                seed=seed,
                form=form,  # type: ignore[arg-type]
                workers=workers,
                progress=True,
            )
        if json:
            print_json(result)
        else:
            lines = [f"{result['verdict'].upper()}: {result['sentence']}"]
            lines += [f"note: {note}" for note in result["result"]["notes"]]
            printed(lambda: print("\n".join(lines)))
        raise typer.Exit(int(result["exit_code"]))


@assets_app.command("list")
def list_command(json: Json = False) -> None:
    """List the optional assets, and whether they are in the cache.

    \b
    Example:
      dpaudit assets list
    """  # noqa: D301
    with honest_exit():
        from dpaudit.asset_registry import ASSETS
        from dpaudit.cache_dir import cache_directory

        rows = []
        for asset in ASSETS.values():
            folder = cache_directory() / "assets" / f"{asset.name}-{asset.version}"
            rows.append(
                {
                    "name": asset.name,
                    "version": asset.version,
                    "what": asset.what,
                    "licence": asset.licence,
                    "download_bytes": asset.download_size,
                    "path": str(folder) if folder.is_dir() else None,
                }
            )
        if json:
            print_json({**head("assets list"), "assets": rows})
            return
        from dpaudit.report.text import show_assets

        printed(lambda: show_assets(rows, sys.stdout))


@assets_app.command("get")
def get_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="smollm2, mpnet or vader.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Fetch an asset into the cache if it is not there, check it, and print its folder.

    \b
    Example:
      dpaudit assets get mpnet
    """  # noqa: D301
    with honest_exit():
        from dpaudit import assets

        with quiet_stdout():
            path = assets.get(name, echo=lambda text: print(text, file=sys.stderr))
        if json:
            print_json({**head("assets get"), "name": name, "path": str(path)})
        else:
            printed(lambda: print(path))
