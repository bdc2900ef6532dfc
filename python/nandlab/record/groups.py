"""Groups of blocks with sizes from a model in the result record."""

from __future__ import annotations

from nandlab.record.view import View


class Groups(View):
    """Groups of blocks with `placement.midas`: their sizes at the end, and the model's forecast for them.

    `blocks` has blocks of each die: the hot group, then the chain's groups before the last one, which has
    all others; empty while no group has a size. `predicted_waf` is the forecast for these sizes, `epoch_waf`
    the write amplification measured in the last whole epoch; both are None before the first epoch has ended.
    The model was asked `epochs` times, its sizes were `adopted`, and groups were `merged` as their victims
    did not follow it.
    """

    blocks: list[int]
    predicted_waf: float | None
    epoch_waf: float | None
    epochs: int
    adopted: int
    merged: int
