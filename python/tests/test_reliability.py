"""Cells that age, from the tables in Python to the words of a report. Figures are closed forms."""

import pytest

import nandlab
from nandlab.figures.headline import headline

# 32 wrong bits of the 32,768 of a codeword are expected: two steps leave 8, as many as the ECC corrects.
TWO_STEPS = {"rber": 32 / 32768, "ecc_bits": 8, "codeword_bytes": 4096}


def experiment(reliability, *, refresh_percent=0, precondition=None):
    return nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=500, read_share=1.0),
        ftl=nandlab.ftl.page(refresh_percent=refresh_percent),
        device=nandlab.Device(
            capacity="2 MiB",
            over_provisioning=0.5,
            shape={"page_bytes": 4096, "pages_per_block": 16},
            reliability=reliability,
        ),
        precondition=precondition or nandlab.Precondition(fill="sequential"),
    )


def test_a_record_tells_of_retries():
    result = experiment(TWO_STEPS).run()
    told = result.reliability
    assert (told.retried_reads, told.retries, told.most_retries) == (500, 1000, 2)
    assert (told.uncorrectable_reads, told.refreshes, told.lost_pages, told.most_errors) == (0, 0, 0, 32)
    assert sum(row.reads for row in result.matrix if row.cause == "read_retry") == 1000
    assert experiment(None).run().reliability is None


def test_words_for_people_name_them():
    rows = {name: (figure, words) for name, figure, words in headline(experiment(TWO_STEPS).run())}
    words = "at most 32.0 wrong bits expected in a codeword, 500 reads repeated"
    assert rows["read retries"] == ("1,000", words)
    assert "read retries" not in {name for name, *_ in headline(experiment(None).run())}
    said = nandlab.explain(experiment(TWO_STEPS).run(), tries=0).text()
    assert "reading pages again that the ECC could not correct" in said


def test_a_device_on_the_shelf_ages():
    # One bit after a day, by the square root: 10 after 100 days, which one step halves.
    ages = {
        "retention": 1 / 32768,
        "retention_exponent": 0.5,
        "initial_pe_cycles": 1000,
        "ecc_bits": 8,
        "codeword_bytes": 4096,
    }
    shelf = nandlab.Precondition(fill="sequential", shelf_days=100)
    told = experiment(ages, precondition=shelf).run().reliability
    assert told.retries == 500
    assert told.most_errors == pytest.approx(10, abs=1e-3)
    assert experiment(ages).run().reliability.retries == 0


def test_refreshed_blocks_are_told():
    ages = {"read_disturb": 1 / 32768, "read_disturb_wear_exponent": 0, "ecc_bits": 8, "codeword_bytes": 4096}
    told = experiment(ages, refresh_percent=50).run().reliability
    assert told.refreshes > 0


def test_what_cannot_work_is_refused_with_its_key():
    with pytest.raises(nandlab.ConfigError, match=r"device\.reliability\.codeword_bytes = 0 cannot work"):
        experiment({"ecc_bits": 8, "codeword_bytes": 0}).resolve()
    with pytest.raises(nandlab.ConfigError, match=r"ecc_bits"):
        experiment({"rber": 1e-4}).resolve()
