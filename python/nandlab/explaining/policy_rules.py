"""Rules for the page map's policies: victims, page placement, and wear levelling."""

from __future__ import annotations

from nandlab.explaining.case import Case
from nandlab.explaining.change import Change, part
from nandlab.explaining.ftl_rules import collection
from nandlab.writing import units

MIXING = ("one", "two", "origin")
"""Placements without regard for page lifetime."""


def greedy_victims(case: Case) -> Change | None:
    """The victim with the fewest valid pages, in place of the present choice.

    Share: as for `over_provisioning`, if `victim` is another
    Change: `ftl.page.victim = "greedy"`
    """
    name, _ = case.ftl
    share = collection(case)
    if name != "page" or case.choice("victim")[0] == "greedy" or not share:
        return None
    return Change(
        "greedy_victims",
        f"garbage collection took {part(case, share)} more than any design needs",
        f"victims with the fewest valid pages (greedy) in place of {case.choice('victim')[0]}",
        "cold pages and hot ones stay together where the policy before kept them apart",
        share,
        ("ftl.page.victim=greedy",),
    )


def separate_by_lifetime(case: Case) -> Change | None:
    """Pages with equal lifetimes go to the same blocks, so that whole blocks become stale.

    Share: as for `over_provisioning`, with `placement` `one`, `two` or `origin`, unless the writes are
        uniform
    Change: `ftl.page.placement = "sepbit"`
    """
    name, _ = case.ftl
    share = collection(case)
    if name != "page" or case.choice("placement")[0] not in MIXING or not share:
        return None
    # Under uniform writes no page lives longer than another.
    if "uniform" in case.experiment["workload"]:
        return None
    device = case.result.device
    # Two times for each logical page, and the owner for each flash page.
    memory = (8 * device.logical_bytes + 4 * device.physical_bytes) // device.page_bytes
    return Change(
        "separate_by_lifetime",
        f"garbage collection took {part(case, share)} more than any design needs",
        "pages by how long they are expected to live (sepbit)",
        f"about {units.size(memory)} of RAM for lifetimes and owners of pages, six open blocks a die",
        share,
        ("ftl.page.placement=sepbit",),
    )


def write_with_handles(case: Case) -> Change | None:
    """The host says which of its writes belong together, and the device has handles for them.

    Share: as for `over_provisioning`, if a cache (`cachelib`) writes without handles to a device that has
        them
    Change: `workload.cachelib.placement = true`
    """
    options = case.experiment["workload"].get("cachelib")
    share = collection(case)
    if options is None or options["placement"] or case.choice("placement")[0] != "fdp" or not share:
        return None
    return Change(
        "write_with_handles",
        f"garbage collection took {part(case, share)} more than any design needs",
        "writes that carry the handles of their engines",
        "a host that knows them",
        share,
        ("workload.cachelib.placement=true",),
    )


def follow_handles(case: Case) -> Change | None:
    """The device keeps the writes of different handles apart, as the host says.

    Share: as for `over_provisioning`, if the cache writes with handles and `ftl.page.placement` is
        another
    Change: `ftl.page.placement = "fdp"`
    """
    options = case.experiment["workload"].get("cachelib")
    share = collection(case)
    if options is None or not options["placement"] or case.ftl[0] != "page" or not share:
        return None
    if case.choice("placement")[0] == "fdp":
        return None
    return Change(
        "follow_handles",
        f"garbage collection took {part(case, share)} more than any design needs",
        "a device that follows the handles of the writes",
        "an open reclaim unit for each handle, and blocks that wait to be filled",
        share,
        ("ftl.page.placement=fdp",),
    )


def no_static_levelling(case: Case) -> Change | None:
    """Nothing is moved for wear; the least worn free block is filled next.

    Share: cause `wear_leveling`
    Change: `ftl.page.wear = "dynamic"`
    """
    share = case.share(causes=("wear_leveling",))
    if case.ftl[0] != "page" or case.choice("wear")[0] in ("none", "dynamic") or not share:
        return None
    return Change(
        "no_static_levelling",
        f"wear levelling took {part(case, share)}",
        f"dynamic wear levelling alone in place of {case.choice('wear')[0]}",
        "blocks of data that is never written do not wear, so others reach their endurance sooner",
        share,
        ("ftl.page.wear=dynamic",),
    )
