"""`nandlab choose`: what fits, what it costs, what to take."""

import re

import pytest
from conftest import without_scripts

import nandlab
from nandlab.choosing import Advice, Candidate, Measured, Wish, advise, choose
from nandlab.listing import lists
from nandlab.writing import units

PHONE = ("--workload", "phone", "--transactions", "40")


@pytest.fixture(scope="module")
def advice():
    """A cell phone on 1 MiB, with NVRAM for all that MiNV needs."""
    wish = Wish({"phone": {"transactions": 150}}, 1 << 20, nvram_bytes=1 << 20, daily_bytes=1e6, years=3)
    return choose(wish)


def test_every_file_system_is_a_candidate(advice):
    names = {each.name for each in advice.measured}
    anywhere = [
        ftl["name"] for ftl in lists()["ftls"] if not (ftl.get("has_zones") or ftl.get("is_elsewhere"))
    ]
    assert names == {"yaffs", "minv", *(f"fat over {name}" for name in anywhere)}
    assert all(each.fits for each in advice.measured), [each.why_not for each in advice.measured]


def test_the_one_to_take_is_the_fastest_that_lasts(advice):
    figures = {each.name: each.figures(advice.wish) for each in advice.measured}
    lasting = {name: each for name, each in figures.items() if each["life_years"] >= 3}
    assert 0 < len(lasting) < len(figures), "the years tell candidates apart"
    assert advice.take.name == min(lasting, key=lambda name: lasting[name]["transaction_us"])
    assert advice.why[0].startswith(
        f"Take {advice.take.name}: of the {len(lasting)} that fit and last 3 years"
    )


def test_figures_are_those_of_a_run_of_the_experiment(advice):
    for each in advice.measured[:3]:
        tree = each.result.experiment
        again = nandlab.Experiment(**tree).run()
        assert again == each.result
        figures, phase = each.figures(advice.wish), again.fs.phases.transactions
        assert figures["transaction_us"] == phase.time_us / figures["transactions"]
        # By hand: the most worn block takes as many cycles again and again, at a megabyte a day.
        life_bytes = again.fs.written_bytes * 100_000 / max(cycles for cycles, _ in again.wear.histogram)
        assert figures["life_years"] == pytest.approx(life_bytes / 1e6 / 365.25)
        assert figures["mount_us"] == again.remount.time_us > 0


def test_nvram_costs_what_a_fram_does_unless_it_is_said_otherwise(nandlab_command):
    def minv(*sets):
        document = nandlab_command(
            "choose", "--flash", "1M", *PHONE, *(f"--set=fs.minv.nvram.{each}" for each in sets), "--json"
        ).document
        (found,) = (each for each in document["candidates"] if each["name"] == "minv")
        return found

    fram, free = minv(), minv("read_ns=0", "write_ns=0", "read_nj=0", "write_nj=0")
    assert fram["experiment"]["fs"]["minv"]["nvram"]["read_ns"] == 110
    assert fram["transaction_us"] > free["transaction_us"]
    assert fram["energy_j"] > free["energy_j"] > 0
    assert fram["programs"] == free["programs"]


def test_what_does_not_fit_says_why(nandlab_command):
    small = ("choose", "--flash", "1M", *PHONE, "--json")
    document = nandlab_command(*small, "--ram", "8K").document
    by_name = {each["name"]: each for each in document["candidates"]}
    assert document["take"] in {name for name, each in by_name.items() if each["fits"]}
    assert "of NVRAM and has none" in by_name["minv"]["why_not"]
    over = [each for each in by_name.values() if each["ram_bytes"] is not None and each["ram_bytes"] > 8192]
    assert over
    assert all("of RAM and has 8 KiB" in each["why_not"] and not each["fits"] for each in over)
    assert all(each["ram_bytes"] <= 8192 for each in by_name.values() if each["fits"])
    # The reason and the table have the same RAM where no cache can go.
    assert re.match(r"it needs ([\d.]+ \S+) of RAM", by_name["yaffs"]["why_not"])[1] == units.size(
        by_name["yaffs"]["ram_bytes"]
    )
    cut = [each for each in over if "are cache that can go" in each["why_not"]]
    assert all(f"of its {units.size(each['ram_bytes'])} are" in each["why_not"] for each in cut)
    none = nandlab_command(*small, "--ram", "16").document
    assert none["take"] is None
    assert none["why"] == ["No candidate fits: each line says why."]


def test_a_workload_that_outgrows_the_flash_is_told_where(nandlab_command):
    document = nandlab_command("choose", "--flash", "512K", "--workload", "phone", "--json").document
    assert document["take"] is None
    for each in document["candidates"]:
        assert "transaction" in each["why_not"] or "blocks" in each["why_not"], each


def test_options_apply_to_those_that_have_them(nandlab_command):
    document = nandlab_command(
        "choose", "--flash", "1M", *PHONE, "--set", "fs.yaffs.gc.passive_limit=2", "--json"
    ).document
    experiments = {each["name"]: each["experiment"] for each in document["candidates"]}
    assert experiments["yaffs"]["fs"]["yaffs"]["gc"]["passive_limit"] == 2
    assert experiments["minv"]["fs"]["minv"]["gc"]["passive_limit"] == 3


def test_a_chip_comes_from_a_file_as_from_a_bundled_profile(nandlab_command, tmp_path):
    profile = next(each["doc"] for each in lists()["devices"] if each["name"] == "k9f5608")
    (tmp_path / "chip.toml").write_text(profile, encoding="utf-8")
    from_file, bundled = (
        nandlab_command(
            "choose", "--flash", "1M", *PHONE, "--device", device, "--json", cwd=tmp_path
        ).document
        for device in ("chip.toml", "k9f5608")
    )
    figures = [
        [
            {key: each[key] for key in ("name", "fits", "transaction_us", "erases")}
            for each in found["candidates"]
        ]
        for found in (from_file, bundled)
    ]
    assert figures[0] == figures[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--flash", "1M", "--workload", "phone", "--device", "no.toml"), "no.toml: there is no such file"),
        (("--flash", "1M", "--workload", "fone"), "did you mean phone"),
        (("--flash", "1M", "--workload", "zipf"), "there is no workload of files 'zipf'"),
        (("--flash", "1000", "--workload", "phone"), "is no number of blocks of 16 KiB"),
        (("--flash", "1 stone", "--workload", "phone"), "is no unit of bytes"),
        (("--flash", "1M", "--workload", "phone", "--daily", "0"), "at least 1 byte a day"),
        (("--flash", "1M", "--workload", "phone", "--device", "k9"), "there is no device 'k9'"),
        (
            ("--flash", "1M", "--workload", "phone", "--set", "ftl.nothing.a=1"),
            "no candidate has such a table",
        ),
        (("--flash", "1M", "--workload", "phone", "--set", "workload.phone.sms=1"), "workload.phone"),
        (("--flash", "1M", *PHONE, "--set", "fs.yafs.short_op_cache=1"), "did you mean fs.yaffs?"),
        (("--flash", "1M", *PHONE, "--set", "ftl.bast.log_block=16"), "did you mean `log_blocks`?"),
        (("--flash", "1M", *PHONE, "--set", "fs.fat.cache_byte=16"), "did you mean `cache_bytes`?"),
        (
            ("--flash", "1M", *PHONE, "--set", "ftl.bast.log_blocks=many"),
            "--set ftl.bast.log_blocks: expected",
        ),
        (("--flash", "1M", *PHONE, "--set", "device.shape.page_bytes=2048"), "--flash and --device"),
        (("--flash", "1M", *PHONE, "--set", "workload.phone.transactions=9"), "given twice"),
        (("--flash", "1M", *PHONE, "--years", "nan"), "nan years"),
        (("--flash", "1M", *PHONE, "--years", "-1"), "-1 years"),
    ],
)
def test_a_mistake_is_a_sentence(nandlab_command, arguments, said):
    ended = nandlab_command("choose", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err


def test_a_report_stands_alone(nandlab_command, tmp_path):
    page = tmp_path / "choice.html"
    ended = nandlab_command("choose", "--flash", "1M", *PHONE, "--report", page, alone=True)
    assert ended.status == 0
    assert "Take " in ended.out
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "http" not in without_scripts(text).replace("http://www.w3.org", "")
    anywhere = [ftl for ftl in lists()["ftls"] if not (ftl.get("has_zones") or ftl.get("is_elsewhere"))]
    assert all(ftl["name"] in text for ftl in anywhere)


class Given(Measured):
    """A candidate with figures of its own."""

    is_blank = False

    def figures(self, wish):
        """As given."""
        return self.result


def given(name, time, years, ram, cycles=9):
    figures = {
        "transaction_us": time,
        "life_years": years,
        "ram_bytes": ram,
        "mount_us": 1.0,
        "energy_j": None,
    }
    return Given(Candidate(name, None), {**figures, "life_pe_cycles": cycles, "life_transactions": 640}, "")


def advised(*measured, years=5.0) -> Advice:
    return advise(Wish({"phone": {}}, 1 << 20, years=years), list(measured))


def test_life_comes_before_time():
    fast, slow = given("fast", 1.0, 2.0, 64), given("slow", 10.0, 9.0, 32)
    assert advised(fast, slow).take is slow
    assert advised(fast, slow, years=1.5).take is fast
    short = advised(fast, slow, years=50)
    assert short.take is slow
    assert (
        short.why[0]
        == "Take slow, or more flash: none that fits lasts 50 years, and it lasts longest, 9 years."
    )


def test_of_two_that_are_as_fast_the_one_that_lasts_longer_is_taken():
    short, long = given("short", 1.0, 6.0, 64), given("long", 1.005, 12.0, 64)
    assert advised(short, long).take is long
    assert advised(short, given("slower", 1.02, 12.0, 64)).take is short


def test_times_are_those_of_a_flash_that_is_used():
    """8 transactions leave 8 MiB almost blank, and NFTL has merged nothing yet; after 512 it has."""
    wish = Wish({"phone": {"transactions": 8}}, 8 << 20, ram_bytes=101 << 10, daily_bytes=10e6, years=2)
    advice = choose(wish)
    compared = [each for each in advice.measured if each.result is not None]
    assert len({each.figures(wish)["transactions"] for each in compared}) == 1
    assert not any(each.is_blank for each in compared if each.fits)
    times = {each.name: each.figures(wish)["transaction_us"] for each in compared}
    assert times["fat over nftl"] > 3 * times[advice.take.name]
    assert "All ran 512 transactions: after 8 the flash was half blank" in advice.why[-1]


def test_what_another_one_is_better_in_is_said():
    found = advised(given("fast", 1.0, 6.0, 64), given("slow", 10.0, 12.0, 32))
    assert found.why == [
        "Take fast: of the 2 that fit and last 5 years it is fastest.",
        "Slow lasts longest (by a factor of 2) and takes the least RAM (by a factor of 2).",
    ]
    coarse = advised(given("one", 1.0, 6.0, 64, cycles=2))
    assert coarse.why[0] == "Take one: of the one that fits and lasts 5 years it is fastest."
    assert coarse.why[-1].startswith("Life of one is told from few erases (2 of the most worn block)")


def test_lives_of_few_erases_are_named_whoever_is_taken():
    found = advised(
        given("fast", 1.0, 6.0, 64), given("a", 2.0, 4.9, 64, cycles=1), given("b", 2.0, 9.0, 64, cycles=4)
    )
    assert found.why[-1].startswith("Life of a and b is told from few erases (1 to 4 of the most worn block)")


def test_a_life_that_is_not_known_is_none_that_is_long_enough():
    worn, new = given("worn", 10.0, 6.0, 64), given("new", 1.0, None, 64, cycles=0)
    found = advised(worn, new)
    assert found.take is worn
    assert found.why[0] == "Take worn: of the one that fits and lasts 5 years it is fastest."
    assert found.why[-1].startswith(
        "How long new lasts is not known: no block was erased in 640 transactions"
    )
    found = advised(worn, new, given("newer", 2.0, None, 64, cycles=0), years=50)
    assert found.take is new
    assert found.why[0].startswith("Take new, with care: none that fits is known to last 50 years")
    assert found.why[-1].startswith("How long new and newer last is not known")


def test_a_run_is_longer_where_no_block_was_erased():
    wish = Wish({"phone": {"transactions": 10}}, 1 << 20, nvram_bytes=1 << 20)
    by_name = {each.name: each for each in choose(wish).measured}
    young = by_name["minv"]
    figures = young.figures(wish)
    # All are compared at 40: some outgrow the volume before 160.
    assert (figures["erases"], figures["most_pe_cycles"], young.result.fs.transactions) == (0, 0, 40)
    assert figures["life_transactions"] in (160, 640)
    assert figures["life_pe_cycles"] > 0
    assert young.longer is not None
    tree = young.result.experiment
    longer = {"phone": {**tree["workload"]["phone"], "transactions": figures["life_transactions"]}}
    aged = nandlab.Experiment(**{**tree, "workload": longer}).run()
    cycles = max(aged.wear.max, aged.lifetime.cycles)
    assert figures["life_bytes"] == aged.fs.written_bytes * 100_000 / cycles
    # What erased a block often is left as it is.
    block = by_name["fat over block"].figures(wish)
    assert (block["life_transactions"], block["life_pe_cycles"]) == (40, block["most_pe_cycles"])


def test_a_life_that_no_run_tells_is_not_known(nandlab_command):
    small = ("choose", "--flash", "32M", "--nvram", "1M", "--workload", "phone", "--transactions", "1")
    document = nandlab_command(*small, "--json").document
    minv = next(each for each in document["candidates"] if each["name"] == "minv")
    assert (minv["life_years"], minv["life_transactions"], minv["fits"]) == (None, 64, True)
    assert document["take"] != "minv", "it is the fastest, and nobody knows how long it lasts"
    assert any("not known" in sentence and "minv" in sentence for sentence in document["why"])
    assert "not known" in nandlab_command(*small).out


def test_what_does_not_fit_is_told_what_would(nandlab_command):
    few = nandlab_command("choose", "--flash", "64K", *PHONE)
    assert few.status == 2
    assert "take a flash of 1008 KiB" in few.err
    assert "blocks_per_plane" not in few.err

    def candidates(ram):
        document = nandlab_command("choose", "--flash", "4M", "--ram", ram, *PHONE, "--json").document
        return {each["name"]: each for each in document["candidates"]}

    # 2 KiB of sectors are left to it at least.
    needed = candidates("8K")["fat over page"]["why_not"]
    size, unit = needed.removeprefix("it needs ").split(" of RAM")[0].split()
    assert unit == "KiB", needed
    enough = candidates(round(1024 * (float(size) + 0.1)))["fat over page"]
    assert enough["fits"], enough["why_not"]
    assert enough["experiment"]["fs"]["fat"]["cache_bytes"] == "2 KiB"


def test_postmark_does_not_fill_the_root_directory_of_fat(nandlab_command):
    document = nandlab_command(
        "choose", "--flash", "16M", "--workload", "postmark", "--transactions", "5", "--json"
    ).document
    assert all(each["fits"] for each in document["candidates"] if each["name"].startswith("fat"))
    found = nandlab_command(
        "choose", "--flash", "16M", "--workload", "postmark", "--transactions", "5",
        "--set", "workload.postmark.subdirectories=0", "--json",
    ).document  # fmt: skip
    assert any("the root directory" in each["why_not"] for each in found["candidates"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"years": float("nan")}, "nan years"),
        ({"years": float("inf")}, "inf years"),
        ({"years": -1.0}, "-1 years"),
        ({"daily_bytes": 0}, "at least 1 byte a day"),
        ({"daily_bytes": -1}, "-1 bytes a day"),
        ({"daily_bytes": float("nan")}, "nan bytes a day"),
        ({"ram_bytes": -1}, "-1 bytes of RAM"),
        ({"nvram_bytes": -2}, "-2 bytes of NVRAM"),
        ({"workload": {}}, "one workload"),
        ({"sets": (("device.shape.blocks_per_plane", "64"),)}, "the size of the flash and the chip"),
        ({"sets": (("device.capacity", "64 MiB"),)}, "the size of the flash and the chip"),
        ({"sets": (("workload.phone.transactions", "9"),)}, "given twice"),
    ],
)
def test_a_wish_without_sense_is_refused(given, said):
    with pytest.raises(nandlab.ConfigError, match=said):
        Wish(**{"workload": {"phone": {"transactions": 5}}, "flash_bytes": 1 << 20, **given})


POLICY = """
from nandlab import policy


class Fewest(policy.Victim):
    def pick(self, blocks):
        return blocks.valid.argmin()
"""


def test_policies_apply_to_the_candidates_with_their_table(nandlab_command, tmp_path, monkeypatch):
    (tmp_path / "fewest_here.py").write_text(POLICY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import fewest_here

    def told(sets):
        wish = nandlab.Wish({"phone": {"transactions": 60}}, 1 << 20, daily_bytes=1 << 20, sets=sets)
        found = next(each for each in nandlab.choose(wish).measured if each.name == "fat over page")
        assert found.fits, found.why_not
        return found.figures(wish)

    # The page map's own greedy policy decides in the same way.
    assert told([("ftl.page.victim", fewest_here.Fewest())]) == told([("ftl.page.victim", "greedy")])
    words = ("choose", "--flash", "1M", *PHONE, "--json")
    given = ("--set", 'ftl.page.victim={ python = "fewest_here:Fewest" }')
    refused = nandlab_command(*words, *given, cwd=tmp_path)
    by_name = {each["name"]: each for each in refused.document["candidates"]}
    assert "--policies" in by_name["fat over page"]["why_not"]
    allowed = nandlab_command(*words, *given, "--policies", cwd=tmp_path)
    by_name = {each["name"]: each for each in allowed.document["candidates"]}
    assert by_name["fat over page"]["fits"]
