# make demo   builds, replays the bundled SQLite traces over several designs, writes reports/demo.html
# make test   every test, Rust and Python
# make help   the other targets

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates profiles memories papers -name '*.rs' -o -name '*.toml' -o -name '*.csv')
PYTHON_SOURCES := $(shell find python/nandlab -name '*.py' -o -name '*.css' -o -name '*.js' -o -name '*.txt')
# cargo builds for the interpreter of the virtual environment.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

# The oldest Rust, as in Cargo.toml.
RUST := 1.86

# The folder with boot/vmlinuz-* and lib/modules for `make test-nvme`.
NANDLAB_KERNEL ?= /

# Random power cuts of `make powercut`, and seconds for each target of `make fuzz`.
CUTS ?= 200000
FUZZ_SECONDS ?= 600
# Kills of `make test-kill` for each stack.
NANDLAB_KILLS ?= 20
# Of the drives of `make probe`.
SEED ?= 1
FUZZ_VERSION := 0.13.2

# A cold build is not incremental: what a next build would reuse costs time. Whoever has built with cargo goes on as it does.
COLD := $(if $(wildcard target/debug/incremental/*),,CARGO_INCREMENTAL=0)

.PHONY: demo demo-build demo-wheel wheel test build extension bench lint docs pictures validation probe powercut fuzz mutations test-kill test-damage test-nvme test-long clean help prerequisites

# A wheel in dist/ that was built from these sources spares the compiler.
demo:
	@wheel=$$(ls dist/*.whl >/dev/null 2>&1 && $(PYTHON) release/wheel.py find); \
		if [ -n "$$wheel" ]; then $(MAKE) --no-print-directory demo-wheel WHEEL="$$wheel"; \
		else $(MAKE) --no-print-directory demo-build; fi

demo-build: extension
	@mkdir -p reports
	@$(BIN)/nandlab demo --report reports/demo.html

demo-wheel: $(VENV)/wheel/.installed
	@mkdir -p reports
	@$(VENV)/wheel/bin/nandlab demo --report reports/demo.html

# A wheel for this machine, what auditwheel says about it, and what somebody new would try with it.
wheel: $(VENV)/.release
	$(BIN)/python release/wheel.py build
	@# auditwheel knows Linux alone.
	[ "$$(uname)" != Linux ] || $(BIN)/auditwheel show "$$($(BIN)/python release/wheel.py find)"
	$(BIN)/python release/try_wheel.py "$$($(BIN)/python release/wheel.py find)"

test: build $(VENV)/.dev
	@# pytest runs beside cargo, whose compiler and tests leave a processor idle now and then; a second pytest helps from the
	@# end of cargo on. They share the files of tests. Each has its own temporary folder: they would clean up each other's.
	share=$$(mktemp -d); pytest="$(BIN)/python -m pytest -q --share=$$share"; \
		$$pytest --basetemp=$$share/first >$$share/first.txt 2>&1 & first=$$!; \
		$(COLD) cargo test --workspace --exclude nandlab-py; rust=$$?; \
		$$pytest --basetemp=$$share/second; second=$$?; wait $$first; first=$$?; \
		cat $$share/first.txt; rm -rf $$share; exit $$((rust + first + second))

build: extension $(VENV)/.firmware

extension: $(VENV)/.extension $(VENV)/.bytecode

bench: build
	$(BIN)/nandlab bench

lint: build $(VENV)/.dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A dead link or an unknown page ends it; with --quiet mkdocs would count no warnings. What it builds can be read without a
# server: reports/site/index.html.
docs: build $(VENV)/.docs
	@mkdir -p reports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Draws the pictures of README and docs again. It takes a Chromium, fio, sqlite3, e2fsprogs, fuse2fs and fuse3. Left out are
# pictures with data from elsewhere (drives-*.png, calibrate.png), and scale.png, which measures the machine.
pictures: demo build $(VENV)/.dev
	$(BIN)/python docs/images/screenshots.py
	$(BIN)/python docs/images/disk_page.py
	$(BIN)/python docs/images/commands.py
	$(BIN)/python docs/images/concepts.py
	$(BIN)/python docs/images/fdp.py
	$(BIN)/python docs/images/slc.py
	$(BIN)/python docs/images/validation.py
	$(BIN)/python docs/images/papers.py --redraw

# Quick forms of these three are part of `make test`.
powercut: prerequisites
	NANDLAB_LONG=1 NANDLAB_CUTS=$(CUTS) NANDLAB_CUT_DEPTH=2 \
		cargo test --release --package nandlab-proof --test all power_cut::

fuzz: prerequisites
	@command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked --version $(FUZZ_VERSION)
	@# The sanitizers are unstable options; the stable compiler takes them when it is asked like this.
	cd fuzz && export RUSTC_BOOTSTRAP=1 && for target in $$(cargo fuzz list); do \
		mkdir -p corpus/$$target && \
		cargo fuzz run $$target corpus/$$target seeds/$$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done

# Bugs made by hand; each must be caught by its test.
mutations:
	$(PYTHON) crates/proof/mutations/run.py

validation: build
	$(BIN)/python docs/images/validation.py

# Drives drawn from SEED, their numbers and what nandlab calibrate --probe finds; it fails beyond 5 %.
probe: build
	$(BIN)/python -m nandlab.calibrate.probe.judge --seed $(SEED)

# kill -9 under writes to a disk of every FTL and every buffer, by the test itself, by fio and by SQLite: NANDLAB_KILLS for
# each, 200 in a night; a seed of one's own: NANDLAB_KILL_SEED=8.
test-kill: $(VENV)/.dev
	NANDLAB_KILLS=$(NANDLAB_KILLS) NANDLAB_PYTHON=$(CURDIR)/$(BIN)/python \
		cargo test --release --package nandlab-serve --test kill -- --nocapture
	NANDLAB_ZONE_KILLS=100 $(BIN)/python -m pytest -q python/tests/test_nvme_zones.py -k kills

# Images of every FTL and of every buffer in NVRAM, changed at random places; a seed of one's own: NANDLAB_DAMAGE_SEED=7.
test-damage: prerequisites
	NANDLAB_LONG=1 cargo test --package nandlab-serve --test all -- --nocapture damage:: stale::
	NANDLAB_LONG=1 cargo test --package nandlab-proof --test all damage:: -- --nocapture

# NVMe over TCP against Linux's initiator in a virtual machine, in three minutes. It says what is not installed.
test-nvme: $(VENV)/.dev
	NANDLAB_NVME_HOST=1 NANDLAB_KERNEL=$(NANDLAB_KERNEL) $(BIN)/python -m pytest -q python/tests/test_nvme_linux.py

test-long: build $(VENV)/.dev $(VENV)/.docs
	NANDLAB_LONG=1 NANDLAB_CUTS=$(CUTS) NANDLAB_CUT_DEPTH=2 cargo test --release --workspace --exclude nandlab-py
	NANDLAB_LONG=1 $(BIN)/python -m pytest -rs

clean:
	rm -rf $(VENV) reports target fuzz/target python/nandlab/_native*.so
	find python -name __pycache__ -type d -prune -exec rm -rf {} +

help:
	@echo 'make demo       build or take a wheel, compare designs on the SQLite traces, write reports/demo.html'
	@echo 'make test       every test, Rust and Python'
	@echo 'make wheel      a wheel in dist/ that needs no compiler, tried in an empty environment'
	@echo 'make bench      how fast the simulator is on this machine'
	@echo 'make lint       formatting and lints, Rust and Python'
	@echo 'make docs       the documentation as a site, reports/site/index.html'
	@echo 'make pictures   the pictures of README and docs, drawn again from runs of today'
	@echo 'make validation tables and pictures of docs/validation.md, closed forms beside what is measured'
	@echo 'make probe      drives drawn from SEED=$(SEED), and what nandlab calibrate --probe finds of them'
	@echo 'make test-kill   kill -9 under writes to a disk of every FTL and every buffer, by the test, fio and SQLite'
	@echo 'make test-nvme   an NVMe drive for Linux in a virtual machine: ext4, btrfs and f2fs, fio, nvme-cli'
	@echo 'make test-damage images and flash with damage in every place: nothing reads wrong in silence'
	@echo 'make powercut   every FTL with all its options: cuts everywhere, twice, and CUTS=$(CUTS) random ones'
	@echo 'make mutations  bugs made by hand, each of which its test must catch'
	@echo 'make fuzz       every fuzz target, FUZZ_SECONDS=$(FUZZ_SECONDS) each'
	@echo 'make test-long  every test, with as many power cuts as make powercut, every fault, the notebook, a browser'
	@echo 'make clean      remove what the build made'

prerequisites:
	@sh release/rust.sh $(RUST)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
		echo 'nandlab needs Python 3.10 or newer; make PYTHON=/path/to/python3 takes another one' >&2; exit 1; }

$(VENV)/.tools: python/requirements.txt | prerequisites
	@$(PYTHON) -m venv $(VENV) >/dev/null || { \
		echo '$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu install python3-venv' >&2; exit 1; }
	@echo 'installing what nandlab needs into $(VENV)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(VENV)/.dev: python/requirements-dev.txt $(VENV)/.tools
	@echo 'installing the tools of development into $(VENV)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(VENV)/.docs: python/requirements-docs.txt $(VENV)/.tools
	@echo 'installing the tools of the documentation into $(VENV)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(VENV)/.release: python/requirements-release.txt $(VENV)/.tools
	@echo 'installing the tools of a release into $(VENV)'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# The environment of `make demo` with a wheel; the version does not tell one wheel from another.
$(VENV)/wheel/.installed: $(WHEEL)
	@echo 'installing $(WHEEL) into $(VENV)/wheel'
	@$(PYTHON) -m venv $(VENV)/wheel >/dev/null || { \
		echo '$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu install python3-venv' >&2; exit 1; }
	@$(VENV)/wheel/bin/python -m pip uninstall --quiet --yes nandlab 2>/dev/null
	@$(VENV)/wheel/bin/python -m pip install --quiet --disable-pip-version-check $(WHEEL)
	@touch $@

$(VENV)/.extension: $(VENV)/.tools $(RUST_SOURCES) pyproject.toml
	@echo 'building the extension; the first time this takes some minutes'
	@$(BIN)/maturin develop --release --quiet >/dev/null
	@$(BIN)/python -m nandlab.stubs
	@touch $@

# The prover and the library for firmware in C, beside the Python files that call them.
FIRMWARE := python/nandlab/firmware/lib
$(VENV)/.firmware: $(VENV)/.tools $(RUST_SOURCES) include/nandlab.h
	@# With the extension's package beside it, crates that both need have one set of features and are compiled once.
	@$(COLD) cargo build --quiet --release --package nandlab-py --package nandlab-firmware --bin nandlab-prove
	@mkdir -p $(FIRMWARE)/include
	@cp target/release/nandlab-prove target/release/deps/libnandlab.so $(FIRMWARE)
	@cp include/nandlab.h $(FIRMWARE)/include
	@touch $@

# Where the environment forbids Python to keep bytecode, every start would parse every source again.
$(VENV)/.bytecode: $(VENV)/.tools $(PYTHON_SOURCES)
	@$(BIN)/python -m compileall -q python/nandlab
	@touch $@
