"""Tenants with an index or a file system, from Python."""

import nandlab
from nandlab.figures import above


def test_a_tree_and_files_beside_reads_have_rows_of_their_own():
    tenants = [
        {
            "name": "tree",
            "workload": {"inserts": {"operations": 2000}},
            "index": {"lsm": {}},
            "part": "32 MiB",
        },
        {"name": "mail", "workload": {"postmark": {"number": 10, "transactions": 20}}, "fs": {"fat": {}}},
        {"name": "reads", "workload": {"uniform": {"requests": 10, "read_share": 1.0}}},
    ]
    result = nandlab.Experiment(
        workload=nandlab.workload.tenants(tenant=tenants, until="last"),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(profile="generic", capacity="128 MiB"),
    ).run()
    tree, mail, reads = result.tenants
    assert (tree.index.operations.total, tree.index.lsm is not None, tree.files) == (2000, True, None)
    assert (mail.files.transactions, mail.index, mail.stopped) == (20, None, None)
    assert (reads.index, reads.files, reads.requests) == (None, None, 10)
    rows = above.table(result)
    assert [row[:2] for row in rows] == [("tree", "2,000"), ("mail", f"{mail.files.operations.total:,}")]
    assert above.TITLES[-1] == "ended early" and all(row[-1] == "" for row in rows)


def test_lost_data_ends_the_tenant_that_lost_it_alone():
    """At this error rate a page in some hundred cannot be read. Each tree finds its own first one."""
    ops = {"ycsb": {"mix": "a", "records": 20_000, "operations": 20_000}}
    small = {"value_bytes": 100, "write_buffer_bytes": "64 KiB", "cache_bytes": "64 KiB"}
    tenants = [
        {"name": "lsm", "workload": ops, "index": {"lsm": small}},
        {"name": "btree", "workload": ops, "index": {"btree": {"page_bytes": 4096, "pool_frames": 16}}},
        {"name": "noise", "workload": {"uniform": {"requests": 2000, "read_share": 0.0}}},
    ]
    result = nandlab.Experiment(
        workload=nandlab.workload.tenants(tenant=tenants, until="last"),
        ftl=nandlab.ftl.page(),
        device={
            "profile": "generic-8x4",
            "capacity": "256 MiB",
            "over_provisioning": 0.65,
            "faults": {"bit_errors": {"rber": 7e-4, "ecc_bits": 8}},
        },
    ).run()
    *trees, noise = result.tenants
    assert [tree.stopped.why for tree in trees] == ["unreadable", "unreadable"]
    assert all(0 < tree.index.operations.total < 40_000 for tree in trees)
    # Every other request of theirs was answered: they ended at the first loss.
    assert result.host.unreadable == 2
    assert (noise.stopped, noise.requests, result.partial) == (None, 2000, False)
