"""An experiment for each rule in `nandlab explain`, with a known cause for the rule to work against."""

import nandlab

Device, workload, ftl = nandlab.Device, nandlab.workload, nandlab.ftl


def run(work, over=None, *, capacity="16 MiB", op=0.3, shape=None, controller=None, **tables):
    device = Device(capacity=capacity, over_provisioning=op, shape=shape, controller=controller)
    return nandlab.Experiment(workload=work, ftl=over or ftl.page(), device=device, **tables)


CACHE = {
    "requests": 60_000,
    "segment": "1 MiB",
    "large_size": "128 KiB",
    "small_share": 0.9,
    "bucket_reads": False,
}
"""Small objects in buckets, written again and again, and large ones in regions that end together."""

CASES = {
    # Victims hold buckets and regions, though the device has handles for both.
    "write_with_handles": (
        run(
            workload.cachelib(placement=False, **CACHE),
            ftl.page(placement={"fdp": {}}),
            capacity="64 MiB",
            op=0.25,
            precondition={"fill": "sequential"},
        ),
        "time",
    ),
    # The writes have handles, and the device does not follow them.
    "follow_handles": (
        run(workload.cachelib(**CACHE), capacity="64 MiB", op=0.25, precondition={"fill": "sequential"}),
        "time",
    ),
    # As many requests as dies, and blocks are emptied as a whole.
    "collect_on_all_dies": (
        nandlab.Experiment(
            workload=workload.uniform(requests=40_000),
            ftl=ftl.superpage(),
            host={"queue_depth": 32},
            precondition={"fill": "random"},
            device=Device(
                profile="generic-8x4",
                capacity="256 MiB",
                over_provisioning=0.28,
                shape={"pages_per_block": 64},
            ),
        ),
        "time",
    ),
    # Little over-provisioning and uniform writes to a full device: garbage collection copies.
    "over_provisioning": (
        run(workload.uniform(requests=20_000), capacity="32 MiB", op=0.1, precondition={"fill": "random"}),
        "time",
    ),
    # A look-up among eight misses nothing.
    "map_in_memory": (
        run(
            workload.uniform(requests=10_000),
            ftl.dftl(cmt_entries=512),
            precondition={"fill": "sequential"},
        ),
        "time",
    ),
    # Any block is a victim, whatever is valid in it.
    "greedy_victims": (
        run(
            workload.uniform(requests=20_000),
            ftl.page(victim="random"),
            capacity="32 MiB",
            op=0.2,
            precondition={"fill": "random"},
        ),
        "time",
    ),
    # Nine writes in ten go to one page in ten, and survivors lie among them.
    "separate_by_lifetime": (
        run(
            workload.hot_cold(requests=40_000, hot_accesses=0.9, hot_share=0.1),
            ftl.page(placement="one"),
            capacity="32 MiB",
            op=0.15,
            precondition={"fill": "random"},
        ),
        "time",
    ),
    # Half the device is never written, and its blocks are emptied over and over.
    "no_static_levelling": (
        run(
            workload.uniform(requests=60_000, footprint=0.4),
            ftl.page(wear={"bet": {"erases": 4}}),
            capacity="16 MiB",
            precondition={"fill": "sequential"},
        ),
        "time",
    ),
    # Reading a spare area takes as long as a page, and victims have no valid page: nothing else is done.
    "valid_bitmap": (
        run(
            workload.sequential(requests=20_000, footprint=0.5),
            ftl.page(valid_pages="spare"),
            op=0.5,
        ),
        "time",
    ),
    # Writes to more logical blocks than there are log blocks: with twice as many all have one.
    "log_blocks": (
        run(
            workload.uniform(requests=8000, footprint=0.1),
            ftl.bast(log_blocks=8),
            capacity="64 MiB",
            op=0.5,
        ),
        "time",
    ),
    # A block map merges for every page written again; only another map keeps up.
    "page_map": (run(workload.uniform(requests=2000), ftl.fmax()), "time"),
    # Quarter-page writes, on a device with so much room that hardly anything is collected.
    "smaller_pages": (
        run(
            workload.uniform(requests=3000, footprint=0.5),
            op=2.0,
            shape={"page_bytes": 16384, "pages_per_block": 32},
            precondition={"fill": "sequential"},
        ),
        "time",
    ),
    # Blocks with few pages are recycled often, each time a map page is programmed; nothing is copied.
    "map_in_spare_areas": (
        run(
            workload.sequential(requests=8000),
            ftl.migration(partial_merge=True),
            shape={"pages_per_block": 8},
        ),
        "time",
    ),
    # Trims and flushes in turn: trim notes.
    "trims_in_memory": (
        run(workload.uniform(requests=20_000, trim_share=0.3, flush_every=4), capacity="64 MiB", op=0.8),
        "time",
    ),
    # The processor takes twice as long as the flash on all dies together.
    "faster_path": (
        run(
            workload.uniform(requests=20_000, read_share=1.0),
            capacity="64 MiB",
            op=0.5,
            shape={"channels": 4, "dies_per_channel": 2},
            controller={"read_command_us": 40},
            precondition={"fill": "sequential"},
            host={"queue_depth": 16},
        ),
        "time",
    ),
    # Bursts with eight writes to two dies, and room for two.
    "larger_write_buffer": (
        run(
            workload.uniform(requests=8000),
            op=0.5,
            shape={"channels": 2},
            controller={"write_buffer_bytes": 8192},
            host={"queue_depth": 8, "think_time_us": 8000},
        ),
        "time",
    ),
    # A buffer for half the data written again and again.
    "larger_buffer": (
        run(workload.uniform(requests=20_000, footprint="4 MiB"), buffer=nandlab.buffer.lru(size="2 MiB")),
        "time",
    ),
    # A pool much smaller than the tree.
    "larger_pool": (
        run(
            workload.inserts(operations=20_000, order="random"),
            op=0.5,
            index=nandlab.index.btree(pool_bytes="64 KiB"),
        ),
        "time",
    ),
    # An index page is a quarter of a flash page, the pool holds the whole tree: flushes write partial pages.
    "index_pages": (
        run(
            workload.inserts(operations=4000, order="random"),
            op=2.0,
            shape={"page_bytes": 8192, "pages_per_block": 64},
            index=nandlab.index.btree(page_bytes=2048, pool_bytes="4 MiB", flush_every=10),
        ),
        "time",
    ),
    # Page-sized requests that begin at any sector.
    "aligned_requests": (
        run(
            workload.uniform(requests=3000, size="4 KiB", alignment="512 B", footprint=0.5),
            op=2.0,
            precondition={"fill": "sequential"},
        ),
        "time",
    ),
    # Page-sized clusters on a volume whose first one does not begin at a page boundary.
    "aligned_clusters": (
        run(
            workload.large_files(transactions=20),
            op=1.0,
            capacity="64 MiB",
            fs=nandlab.fs.fat(cluster_bytes="4 KiB"),
        ),
        "time",
    ),
    # Files come and go; the device hears no trims and is soon full of deleted data.
    "trim_removed_files": (
        run(
            workload.large_files(transactions=60),
            op=0.2,
            capacity="32 MiB",
            fs=nandlab.fs.fat(cluster_bytes="4 KiB", align_data="4 KiB", write_through="operation"),
        ),
        "time",
    ),
    # Small files on FAT, each entry written at once.
    "write_tables_late": (
        run(
            workload.postmark(transactions=200, subdirectories=10),
            capacity="64 MiB",
            fs=nandlab.fs.fat(write_through="entry"),
        ),
        "time",
    ),
    # 32 dies, and one request at a time.
    "deeper_queue": (
        nandlab.Experiment(
            workload=workload.uniform(requests=5000),
            ftl=ftl.page(),
            device=Device(profile="generic-8x4", capacity="1 GiB", over_provisioning=0.3),
        ),
        "time",
    ),
    # A phone's files: an object header for every change.
    "metadata_in_nvram": (
        nandlab.Experiment(
            workload=workload.phone(transactions=100),
            fs=nandlab.fs.yaffs(),
            device=Device(profile="k9f5608"),
        ),
        "time",
    ),
    # A volume's tables do not fit a cache of two kilobytes.
    "larger_sector_cache": (
        run(
            workload.postmark(transactions=200, subdirectories=10),
            capacity="64 MiB",
            fs=nandlab.fs.fat(cache_bytes="2 KiB"),
        ),
        "time",
    ),
    # A long file written in partial pages, without a cache for them.
    "page_cache": (
        nandlab.Experiment(
            workload=workload.fax(transactions=20),
            fs=nandlab.fs.yaffs(short_op_cache=0),
            device=Device(
                profile="k9f5608",
                shape={"page_bytes": 2048, "spare_bytes": 64, "blocks_per_plane": 512},
                rules={"program_order": "ascending_dense", "partial_programs": 1},
            ),
        ),
        "time",
    ),
    # A large volume, and little to do before its tables are saved.
    "no_checkpoint": (
        nandlab.Experiment(
            workload=workload.phone(transactions=5),
            fs=nandlab.fs.yaffs(format="yaffs2"),
            device=Device(profile="k9k4g", capacity="512 MiB"),
        ),
        "time",
    ),
    # Sectors on few pages, written again and again.
    "lru_buffer": (
        run(workload.uniform(requests=8000, size="512 B", alignment="512 B", footprint="1 MiB"), op=1.0),
        "time",
    ),
    # Whole pages, most of them to few places.
    "coalescing_buffer": (
        run(workload.hot_cold(requests=8000, hot_share=0.01, hot_accesses=0.8), op=0.3),
        "time",
    ),
    # Pages in few blocks, written in any order: chains of blocks are folded.
    "lb_clock_buffer": (
        run(workload.uniform(requests=8000, footprint="1 MiB"), ftl.nftl(), capacity="32 MiB"),
        "time",
    ),
    # The same on flash nearly full with files: collection.
    "larger_flash": (
        nandlab.Experiment(
            workload=workload.phone(transactions=300),
            fs=nandlab.fs.minv(),
            device=Device(profile="k9f5608", capacity="1 MiB"),
        ),
        "erases",
    ),
    # Reads on few blocks disturb them, on a device worn before.
    "refresh": (
        nandlab.Experiment(
            workload=workload.zipf(requests=100_000, read_share=1.0, theta=1.1, scatter=False),
            ftl=ftl.page(),
            device=Device(
                capacity="16 MiB",
                over_provisioning=0.3,
                reliability={
                    "initial_pe_cycles": 2000,
                    "rber": 1.48e-3,
                    "wear": 5.5e-4,
                    "read_disturb": 4e-7,
                    "ecc_bits": 72,
                },
            ),
            precondition={"fill": "sequential"},
        ),
        "time",
    ),
    # Writes at random times, at a third of the device's speed.
    "collect_in_gaps": (
        run(
            workload.uniform(requests=10_000, requests_per_s=100),
            capacity="64 MiB",
            op=0.12,
            precondition={"fill": "sequential", "overwrites": 2.0},
            host={"arrival": "recorded"},
        ),
        "time",
    ),
    # Sixteen pages a request for one die with four planes; each plane could work alone.
    "stripe_over_planes": (
        nandlab.Experiment(
            workload=workload.sequential(requests=400, size="64 KiB", alignment="64 KiB"),
            ftl=ftl.page(),
            device=Device(
                capacity="64 MiB",
                over_provisioning=1.0,
                shape={"planes_per_die": 4},
                timing={"plane_overlap": "independent"},
            ),
        ),
        "time",
    ),
    # Less than a new three-bit device can hold in one-bit blocks.
    "slc_cache": (
        nandlab.Experiment(
            workload=workload.sequential(requests=1000, size="256 KiB", alignment="256 KiB"),
            ftl=ftl.page(),
            device={"profile": "tlc-3d", "capacity": "1 GiB", "over_provisioning": 1.5},
        ),
        "time",
    ),
    # Far more than a cache has room for, and each page in it waits for some.
    "no_slc_cache": (
        nandlab.Experiment(
            workload=workload.sequential(requests=4000, size="256 KiB", alignment="256 KiB"),
            ftl=ftl.page(slc_cache={"fixed": {"full": "fold"}}),
            device={"profile": "tlc-3d", "capacity": "1 GiB", "over_provisioning": 1.5},
        ),
        "time",
    ),
}
