"""Which processor runs the arithmetic: ``auto``, ``cpu`` or ``cuda``."""

from typing import Literal

from dpaudit.errors import ModelError

Device = Literal["cpu", "cuda"]


def resolve_device(device: str) -> Device:
    """Turn ``auto``, ``cpu`` or ``cuda`` into the processor to use.

    ``auto`` takes a CUDA processor if PyTorch is installed and sees one, else the CPU. PyTorch is
    not imported for ``cpu``.

    Parameters
    ----------
    device : {"auto", "cpu", "cuda"}
        What the user asked for.

    Returns
    -------
    str
        ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ModelError
        If the name is none of the three, or CUDA is asked for and is not there.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ModelError(f"device = {device!r}: one of auto, cpu, cuda is needed")
    if device == "cpu":
        return "cpu"
    try:
        import torch

        available = torch.cuda.is_available()
    except ImportError:
        available = False
    if available:
        return "cuda"
    if device == "cuda":
        raise ModelError("device = 'cuda': PyTorch sees no CUDA processor here; use auto or cpu")
    return "cpu"
