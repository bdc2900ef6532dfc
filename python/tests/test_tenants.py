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
