"""Policies as objects in a sweep."""

import nandlab
from nandlab import policy


class Emptied(policy.Victim):
    """As greedy collection chooses, ties included: the first block with the fewest valid pages."""

    def pick(self, blocks):
        return blocks.valid.argmin()


class Eldest(policy.Replacement):
    def start(self, known):
        self.pages = {}

    def insert(self, page):
        self.pages[page] = None

    def victim(self):
        return next(iter(self.pages))

    def evicted(self, page):
        self.pages.pop(page, None)

    forget = evicted


def test_objects_in_a_sweep_give_the_figures_of_their_own_runs():
    page = nandlab.Experiment(
        workload=nandlab.workload.zipf(requests=4000),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="16 MiB", over_provisioning=0.3),
    )
    own = nandlab.ftl.page(victim=Emptied())
    buffers = [
        nandlab.buffer.lru(size="256 KiB"),
        nandlab.buffer.python(size="256 KiB", policy=Eldest()),
    ]
    for vary, single in (
        ({"ftl.page.victim": ["greedy", Emptied()]}, page.replace(ftl=own)),
        ({"ftl": [nandlab.ftl.page(victim="greedy"), own]}, page.replace(ftl=own)),
        ({"buffer": buffers}, page.replace(buffer=buffers[1])),
    ):
        found = nandlab.sweep(page, vary, goals=["waf"]).frame["waf"].to_list()
        assert len(found) == 2 and found[1] == single.run().waf, vary
