"""Possible changes to a run: a rule for each cause, with the cause's cost.

A rule looks at the record alone. Its share is the part of all dies' time, or of the erases, spent on
the cause it works against; rules are tried by their shares, the largest first, and rules with equal shares in
the order of `RULES`. With one die and one request at a time a change saves at most its share, plus its side
effects.
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.explaining import ftl_rules, host_rules, path_rules, policy_rules
from nandlab.explaining.case import Case
from nandlab.explaining.change import LEAST_SHARE, Change

RULES: tuple[Callable[[Case], Change | None], ...] = (
    ftl_rules.collect_on_all_dies,
    host_rules.deeper_queue,
    ftl_rules.refresh,
    ftl_rules.collect_in_gaps,
    policy_rules.write_with_handles,
    policy_rules.follow_handles,
    policy_rules.greedy_victims,
    policy_rules.no_static_levelling,
    ftl_rules.stripe_over_planes,
    ftl_rules.slc_cache,
    ftl_rules.no_slc_cache,
    ftl_rules.valid_pages_in_memory,
    ftl_rules.map_in_spare_areas,
    host_rules.aligned_requests,
    host_rules.aligned_clusters,
    host_rules.trim_removed_files,
    host_rules.write_tables_late,
    host_rules.larger_sector_cache,
    host_rules.page_cache,
    host_rules.larger_pool,
    host_rules.larger_buffer,
    path_rules.faster_path,
    path_rules.larger_write_buffer,
    policy_rules.separate_by_lifetime,
    ftl_rules.map_in_memory,
    ftl_rules.more_log_blocks,
    ftl_rules.more_over_provisioning,
    ftl_rules.larger_file_system,
    ftl_rules.smaller_pages,
    host_rules.index_pages,
    host_rules.page_buffer,
    host_rules.coalescing_buffer,
    host_rules.block_buffer,
    ftl_rules.page_map,
    host_rules.metadata_in_nvram,
    host_rules.no_checkpoint,
    ftl_rules.trims_in_memory,
)
"""Ordered by price: first software settings, then more memory, more flash, and other designs."""


def changes(case: Case) -> list[Change]:
    """Changes that could help, the most promising first."""
    found = [change for rule in RULES for change in [rule(case)] if change is not None]
    worthy = (each for each in found if each.share >= LEAST_SHARE)
    # Shares with equal percentages look alike to anybody, and then the rules' order counts.
    return sorted(worthy, key=lambda each: -round(each.share, 2))
