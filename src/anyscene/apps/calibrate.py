"""`anyscene calibrate`: measure what every step of labeling costs on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from anyscene.apps.console import JsonOption, busy, check_outputs, console, emit_json, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(calibrate)


def calibrate(
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME|FILE", help="The model to calibrate for; none: stand-ins."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rounds: some seconds, less exact.")] = False,
    json: JsonOption = None,
) -> None:
    """Measure how fast this machine is, so that deadlines are kept. Run it when the machine is quiet.

    A model that is loaded without a calibration makes a quick one by itself.
    """
    import numpy as np

    from anyscene.costs.calibration_file import save_calibration
    from anyscene.costs.measuring import calibrate as measure_features
    from anyscene.engine.loading import find_model, learned_from
    from anyscene.engine.ready import calibrate as measure
    from anyscene.features.memory import keep_freed_memory
    from anyscene.features.random_bank import random_bank
    from anyscene.modelfile import load_model
    from anyscene.threads import one_thread

    check_outputs(json, inputs=[find_model(model)] if model else [])
    keep_freed_memory()
    with busy("measuring"), one_thread():
        if model is None:
            measured = measure_features(random_bank(np.random.default_rng(0)), quick)
        else:
            learned = learned_from(load_model(find_model(model)))
            measured = measure(learned, learned.make_bank(1), quick)
    path = save_calibration(measured)
    rows = [
        (
            step,
            f"{cost.fixed:.3f}",
            f"{cost.per_pixel * 1e6:.2f}",
            f"{cost.per_region * 1e3:.3f}",
            f"x {cost.high:.1f}",
        )
        for step, cost in sorted(measured.steps.items())
    ]
    columns = ("step", "fixed", "a megapixel", "1000 regions", "high")
    console(json).print(table("milliseconds of CPU time", columns, rows))
    console(json).print(f"kept in {path}", markup=False, soft_wrap=True)
    emit_json(measured.to_json(), json)
