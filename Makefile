# LPN. A machine with Python 3.11, a C compiler and make is enough; the first run sets up .venv.
# Everything is put inside this folder; `make clean` removes it again.

# A distribution's Python is made with what a profile told its compiler, a version manager's mostly without, which makes it a third slower: that comes
# second, as does one that cannot make virtual environments.
PYTHON ?= $(firstword $(shell for one in /usr/bin/python3 python3; do \
  $$one -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$one; done) python3)
PY := .venv/bin/python
SAY := @echo "lpn:"

# Caches belong to the checkout, unless the user says where they are.
XDG_CACHE_HOME ?= $(CURDIR)/build/cache
PIP_CACHE_DIR ?= $(CURDIR)/build/cache/pip
HYPOTHESIS_STORAGE_DIRECTORY ?= $(CURDIR)/build/cache/hypothesis
export XDG_CACHE_HOME PIP_CACHE_DIR HYPOTHESIS_STORAGE_DIRECTORY
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# cargo keeps its downloads and its configuration in one folder: ours links to the user's configuration.
USER_CARGO := $(HOME)/.cargo
ifndef CARGO_HOME
export CARGO_HOME = $(CURDIR)/build/cache/cargo
endif

# The first of the Debian packages $(1) that can be had, or the sentence $(2) and a failure.
define debian
	{ \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    export DEBIAN_FRONTEND=noninteractive; get="apt-get -qq install -y --no-install-recommends"; \
	    echo "lpn: installing a Debian package: $(firstword $(1))"; \
	    apt-get -qq update >build/apt.log 2>&1; \
	    for package in $(1); do if $$get $$package >>build/apt.log 2>&1; then got=$$package; break; fi; done; \
	    [ -n "$$got" ] || { tail -n 5 build/apt.log; echo "lpn: that failed. $(2)"; false; }; \
	  else echo "lpn: $(2)"; false; fi; \
	}
endef

.PHONY: help demo test bench clean setup
.DELETE_ON_ERROR:

help:
	@echo "make demo    compile, verify and run the UDP example on a capture"
	@echo "make test    all tests (deterministic)"
	@echo "make bench   measure; writes build/bench.json"
	@echo "make setup   only what the others need: .venv, tools"
	@echo "make clean   remove everything that was made here"

demo: setup
	@$(PY) -m lpn.compiler.demo

test: setup
	@$(PY) -m pytest -q -p no:cacheprovider -n auto --dist loadfile --no-loadscope-reorder --basetemp=build/pytest tests examples

bench: setup
	@.venv/bin/lpnc bench

setup: build/.python build/.cc build/.arm build/.cargo build/.bytecode

build/.python: setup.cfg pyproject.toml
	@mkdir -p build
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "lpn: Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 ..."; exit 1; }
	@test -x $(PY) && $(PY) -m pip --version >/dev/null 2>&1 || { \
	  echo "lpn: making .venv with $(PYTHON)"; \
	  $(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	    $(call debian,python3-venv,Python cannot make virtual environments: install python3-venv.) && \
	  $(PYTHON) -m venv --clear .venv; \
	}
	$(SAY) "installing Python packages into .venv (a minute or two)"
	@$(PY) -m pip install -q -e '.[test]'
	@touch $@

# The engine is C; it is compiled on first use.
build/.cc: build/.python
	@command -v cc >/dev/null || $(call debian,build-essential,There is no C compiler: install gcc and libc6-dev.)
	@touch $@

# Without a compiler for the Cortex-M3 engine m3 is not there and its tests are skipped; nothing else needs it.
build/.arm: build/.python
	@command -v arm-none-eabi-gcc >/dev/null || \
	  $(call debian,gcc-arm-none-eabi,There is no arm-none-eabi-gcc: what runs on the emulated Cortex-M3 is left out.) || true
	@touch $@

# Without cargo the tests that compare with the rbpf crate are skipped; nothing else needs it.
# Debian's cargo-web is its current one; its cargo may be too old for the crates' sparse index.
build/.cargo: build/.python
	@command -v cargo >/dev/null || \
	  $(call debian,cargo-web cargo,There is no cargo: what compares with the rbpf crate is left out.) || true
	@mkdir -p "$$CARGO_HOME"
	@for name in config.toml config; do \
	  if [ -f "$(USER_CARGO)/$$name" ] && [ ! -e "$$CARGO_HOME/$$name" ]; then \
	    ln -s "$(USER_CARGO)/$$name" "$$CARGO_HOME/$$name"; fi; \
	done
	@touch $@

# Every command and every process of the tests would compile all of it anew. Python looks at a source's content before it takes what was made of it.
build/.bytecode: build/.python $(shell find lang compiler verifier runtime stdlib -name '*.py')
	@$(PY) -m compileall -q -f -j 0 --invalidation-mode checked-hash lang compiler verifier runtime stdlib
	@touch $@

clean:
	rm -rf build .venv *.egg-info .hypothesis .pytest_cache runtime/rbpf/target
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
