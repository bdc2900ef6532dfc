"""A release: the hash of its sources, the line that installs Rust, its version, the Dockerfile's steps."""

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

import docker_steps
import sources
import version
import wheel

ROOT = Path(__file__).parents[2]
RUST_SH = ROOT / "release" / "rust.sh"


def small_tree(at):
    """A tree with a file in each place a wheel is built from."""
    for name in sources.BUILT_FROM:
        is_file = (ROOT / name).is_file()
        path = at / name if is_file else at / name / "inside" / "file"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"contents of {name}", encoding="utf-8")
    return at


def test_the_hash_changes_with_every_source(tmp_path):
    tree = small_tree(tmp_path)
    hashes = {sources.source_hash(tree)}
    for path in [path for path in tree.rglob("*") if path.is_file()]:
        path.write_text("changed", encoding="utf-8")
        hashes.add(sources.source_hash(tree))
    assert len(hashes) == 1 + len(sources.BUILT_FROM)
    # A name counts, and a file that a link leads to.
    inside = tree / "papers" / "inside" / "file"
    inside.rename(inside.with_name("other"))
    hashes.add(sources.source_hash(tree))
    (tmp_path / "examples").mkdir()
    (tree / "python" / "nandlab" / "examples").symlink_to(tmp_path / "examples")
    (tmp_path / "examples" / "new.toml").write_text("seed = 1", encoding="utf-8")
    hashes.add(sources.source_hash(tree))
    assert len(hashes) == 3 + len(sources.BUILT_FROM)


def test_the_hash_leaves_out_what_a_build_makes(tmp_path):
    tree = small_tree(tmp_path)
    before = sources.source_hash(tree)
    for name in ("_native.abi3.so", "__pycache__/a.cpython-311.pyc", "sources.sha256"):
        path = tree / "python" / "nandlab" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("made", encoding="utf-8")
    assert sources.source_hash(tree) == before


def test_every_bundled_file_counts():
    """Files of the compiled module by `include_str!`, and examples by links."""
    names = {name.as_posix() for name in sources._files(ROOT)}
    assert {"papers/search/btree.csv", "profiles/generic.toml", "memories/wap-dram.toml"} <= names
    assert {f"python/nandlab/examples/experiments/{name}.toml" for name in ("block", "fast")} <= names


def a_wheel(folder, name, text=None):
    with zipfile.ZipFile(folder / name, "w") as made:
        made.writestr("nandlab/__init__.py", "")
        if text is not None:
            made.writestr(wheel.INSIDE, text + "\n")
    return folder / name


def test_only_a_wheel_of_these_sources_for_this_machine_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(wheel.sys, "platform", "linux")
    monkeypatch.setattr(wheel.platform, "machine", lambda: "x86_64")
    # Of sources that do not change during the test.
    own = "1" * 64
    monkeypatch.setattr(wheel, "source_hash", lambda: own)
    start = "nandlab-0.1.0-cp310-abi3-"
    ours = f"{start}manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    assert wheel.find(tmp_path) is None
    a_wheel(tmp_path, f"{start}manylinux_2_17_aarch64.manylinux2014_aarch64.whl", own)
    a_wheel(tmp_path, f"{start}macosx_11_0_arm64.whl", own)
    (tmp_path / f"{start}linux_x86_64.whl").write_bytes(b"no archive")
    assert wheel.find(tmp_path) is None
    for text in (None, "0" * 64):
        a_wheel(tmp_path, ours, text)
        assert wheel.find(tmp_path) is None
    assert wheel.find(a_wheel(tmp_path, ours, own).parent) == tmp_path / ours


def test_a_wheel_is_refused_if_its_sources_changed_while_it_was_built(tmp_path, monkeypatch):
    tree = small_tree(tmp_path)
    monkeypatch.setattr(wheel, "ROOT", tree)
    monkeypatch.setattr(wheel, "source_hash", lambda: sources.source_hash(tree))
    monkeypatch.setattr(wheel.subprocess, "run", lambda *_, **__: None)
    wheel.build(None, tmp_path / "dist")

    def edited(*_, **__):
        (tree / "README.md").write_text("changed", encoding="utf-8")

    monkeypatch.setattr(wheel.subprocess, "run", edited)
    with pytest.raises(SystemExit, match="the sources changed"):
        wheel.build(None, tmp_path / "dist")
    assert not (tree / sources.MARK).exists()


def test_an_apple_names_its_processor_otherwise(monkeypatch):
    monkeypatch.setattr(wheel.sys, "platform", "darwin")
    monkeypatch.setattr(wheel.platform, "machine", lambda: "arm64")
    assert wheel.is_for_this_machine("nandlab-0.1.0-cp310-abi3-macosx_11_0_arm64.whl")
    assert not wheel.is_for_this_machine("nandlab-0.1.0-cp310-abi3-macosx_11_0_x86_64.whl")


APT = "#!/bin/sh\ncase $2 in\n{cases}\nesac\n"
CARGO, RUSTUP = "cargo) echo '  Candidate: {}' ;;", "rustup) echo '  Candidate: {}' ;;"
FAKES = {
    "debian 12": (
        {"apt-get": "", "apt-cache": APT.format(cases=CARGO.format("0.66.0+ds1-1"))},
        "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"$HOME/.cargo/env\"",
    ),
    "debian 13": (
        {
            "apt-get": "",
            "apt-cache": APT.format(
                cases=CARGO.format("1.85.0+dfsg3-1") + "\n" + RUSTUP.format("1.27.1-4+b1")
            ),
        },
        "apt install rustup && rustup default stable",
    ),
    "a newer apt": (
        {"apt-get": "", "apt-cache": APT.format(cases=CARGO.format("2:1.91.0ubuntu1"))},
        "apt install cargo",
    ),
    "fedora": ({"dnf": "#!/bin/sh\necho 'Version      : 1.90.0'\n"}, "dnf install cargo"),
    "brew": ({"brew": ""}, "brew install rust"),
    "an old Rust of rustup": (
        {"cargo": "", "rustc": "#!/bin/sh\necho rustc 1.85.1\n", "rustup": ""},
        "rustup update stable && rustup default stable",
    ),
    "nothing known": (
        {},
        "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"$HOME/.cargo/env\"",
    ),
}


def rust_sh(folder, programs):
    """The script with these programs alone on the PATH, and what it needs itself."""
    for name in ("sh", "sed", "id", "tail"):
        (folder / name).symlink_to(shutil.which(name))
    for name, text in programs.items():
        (folder / name).write_text(text or "#!/bin/sh\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    words = [str(folder / "sh"), str(RUST_SH), "1.86"]
    env = {"PATH": str(folder), "HOME": str(folder)}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize("system", FAKES)
def test_without_rust_one_line_says_how_to_install_it(tmp_path, system):
    programs, line = FAKES[system]
    done = rust_sh(tmp_path, programs)
    assert (done.returncode, done.stdout) == (1, "")
    why, how = done.stderr.splitlines()
    assert why.startswith("nandlab is built with Rust 1.86 or newer, and ")
    assert how.removeprefix("sudo ") == line


@pytest.mark.parametrize("found", ["1.86.0", "1.100.0", "2.0.0-nightly"])
def test_a_rust_that_is_new_enough_is_enough(tmp_path, found):
    done = rust_sh(tmp_path, {"cargo": "", "rustc": f"#!/bin/sh\necho 'rustc {found} (abc 2026-01-01)'\n"})
    assert (done.returncode, done.stderr) == (0, "")


def test_the_oldest_rust_is_that_of_the_workspace():
    oldest = re.search(r'rust-version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"))[1]
    assert f"\nRUST := {oldest}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in ("docs/install.md", ".github/workflows/tests.yml"):
        assert oldest in (ROOT / page).read_text(encoding="utf-8")


def test_make_says_how_to_install_rust(tmp_path):
    """A clone without cargo, without a wheel: `make demo` ends with that line and builds nothing."""
    for name in ("Makefile", "release", "python", "crates", "profiles", "memories", "papers"):
        (tmp_path / name).symlink_to(ROOT / name)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "sh", "python3", "find", "ls", "sed", "id", "tail", "mkdir", "uname"):
        (programs / name).symlink_to(shutil.which(name))
    env = {"PATH": str(programs), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["make", "demo"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "cargo is not found; this installs it:\ncurl --proto" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_every_place_names_one_version():
    import nandlab

    assert version.complaints() == []
    assert version.version() == nandlab.__version__


def test_a_release_needs_its_tag_and_its_day(tmp_path):
    own = version.version()
    for name in ("Cargo.toml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text(f"## {own} - 2026-12-31\n", encoding="utf-8")
    assert version.complaints(f"v{own}", tmp_path) == []
    assert version.complaints("v9.9.9", tmp_path) == [f"the tag is v9.9.9, and the version {own}"]
    changes.write_text(f"## {own} - unreleased\n", encoding="utf-8")
    (complaint,) = version.complaints(f"v{own}", tmp_path)
    assert "a release has a day" in complaint
    changes.write_text("## Unreleased\n", encoding="utf-8")
    assert len(version.complaints(None, tmp_path)) == 1
    cited = (tmp_path / "CITATION.cff").read_text(encoding="utf-8").replace(own, "0.0.9")
    (tmp_path / "CITATION.cff").write_text(cited, encoding="utf-8")
    assert len(version.complaints(None, tmp_path)) == 2


def dockerfile():
    return docker_steps.stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_the_image_is_built_from_what_is_there():
    build, final = dockerfile()
    assert (build.name, final.name) == ("build", "")
    ignored = docker_steps.ignored((ROOT / ".dockerignore").read_text(encoding="utf-8"))
    assert not {Path(name).parts[0] for name in sources.BUILT_FROM} & set(ignored)
    commands = " ".join(rest for word, rest in build.steps if word == "RUN")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\.venv/\S+)", commands):
        assert f"\n{target.replace('.venv', '$(VENV)')}:" in makefile
    for script in re.findall(r"python (\S+\.py)", commands):
        assert (ROOT / script).is_file()
    # The final image has the programs that `disk try` asks for.
    from nandlab.cli.trying import PACKAGES

    installed = docker_steps.packages(" ".join(rest for word, rest in final.steps if word == "RUN"))
    assert {*PACKAGES.values(), "fuse3"} <= set(installed)
    named = [
        name for stage in (build, final) for _, rest in stage.steps for name in docker_steps.packages(rest)
    ]
    assert docker_steps.unknown(named) == []


def test_a_failing_step_ends_the_image(tmp_path, capfd):
    text = "FROM a AS build\nWORKDIR /nandlab\nRUN echo text > file\nFROM b\n"
    (tmp_path / "good").mkdir()
    docker_steps.run(text + "COPY --from=build /nandlab /wheels\nRUN cat /wheels/file\n", tmp_path / "good")
    assert capfd.readouterr().out.endswith("text\n")
    (tmp_path / "bad").mkdir()
    with pytest.raises(SystemExit, match="the step failed"):
        docker_steps.run(text + "RUN cat /wheels/file\n", tmp_path / "bad")


@pytest.mark.long
def test_the_steps_of_the_image_run():
    """With docker itself where its server answers."""
    if (
        shutil.which("docker")
        and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0
    ):
        words = ["docker", "build", "--tag", "nandlab-test", str(ROOT)]
    else:
        words = [os.environ.get("PYTHON", "python3"), str(ROOT / "release" / "docker_steps.py")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
