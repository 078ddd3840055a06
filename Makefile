# Two commands on a fresh machine: `make run` and `make test`. All targets can be called again at no cost.
.DEFAULT_GOAL := help
SHELL := /bin/sh
CARGO ?= cargo
PREFIX ?= /usr/local
# Seconds for each fuzz target.
TIME ?= 300
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
TARE := $(TARGET_DIR)/release/tare

.PHONY: help setup build full mpi run test test-python slow lint bench machines fuzz dist dist-test publish-check console book install clean rust

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

rust:
	@scripts/setup.sh rust

setup: rust ## Install what building and running needs (Debian, Ubuntu; as root or with sudo)
	@scripts/setup.sh build run

build: rust ## Build the command and the C library
	@scripts/setup.sh build
	$(CARGO) build --release --locked -p tarebench-cli -p tarebench-c

full: build ## Build tare-papers and tare-lab, too: the studies, the lab, stores on PostgreSQL servers
	$(CARGO) build --release --locked -p tarebench-papers -p tarebench-lab

mpi: build ## Build the MPI program of `tare noise bsp` (installs Open MPI where there is no MPI)
	@scripts/setup.sh mpi
	$(MAKE) -C mpi LIBRARIES='$(abspath $(TARGET_DIR)/release)'

run: setup build ## Build, measure real programs, and show the result
	@TARE='$(TARE)' scripts/demo.sh

test: rust ## Install what the tests need, and run them all
	@scripts/setup.sh build run test
	scripts/test.sh

slow: full ## Install what the slow tests need (Open MPI, Slurm, debootstrap), and run them
	@scripts/setup.sh build slurm
	TARE_NO_SKIP=$${TARE_NO_SKIP-1} $(CARGO) test --locked --workspace --exclude tare-fuzz --no-fail-fast -- --ignored
	scripts/test-python.sh -m slow
	scripts/lab-test.sh '$(TARE)' slurm
	$(MAKE) console
	$(MAKE) dist-test

test-python: rust ## Build the Python wheel, install it into a fresh virtual environment, and run all of its tests
	@scripts/setup.sh build
	scripts/test-python.sh -m 'slow or not slow'

lint: rust ## Make all checks but the tests: format, lints, generated files, licences
	@scripts/setup.sh build run test
	scripts/lint.sh $(GENERATED)

bench: full ## Compare with a C loop, hyperfine and perf stat; prints Markdown
	@scripts/setup.sh bench test
	@TARE='$(TARE)' python3 bench/run.py
	@TARE='$(TARE)' python3 bench/ratio.py
	@TARE='$(TARE)' python3 bench/power.py
	@TARE='$(TARE)' python3 bench/quiet.py
	@python3 bench/lab.py --tare '$(TARE)' --samples 200000 --runs 100

machines: rust ## Boot kernels from 5.10 on in QEMU, x86-64 and arm64, and try tare in each (as root; KERNELS='5.10 6.1' for some)
	@scripts/setup.sh build machines
	scripts/machines.sh $(KERNELS)

fuzz: rust ## Fuzz every target for TIME seconds (300)
	@scripts/setup.sh build
	scripts/fuzz.sh '$(TIME)'

dist: rust ## Make what is released, in target/dist: static binaries, Debian packages, C library, wheel
	@scripts/setup.sh build
	scripts/dist.sh

dist-test: dist ## Install what is released into a clean Debian system, and use it there (as root)
	scripts/dist-test.sh

publish-check: rust ## Package every crate as for a registry; publishes nothing
	@scripts/setup.sh build
	scripts/publish-check.sh

console: full ## Run the examples of the documentation, and compare what they print with what is shown (as root)
	@scripts/setup.sh run
	python3 scripts/check-console.py --tare '$(TARE)'

book: rust ## Build the documentation as a book, in target/book (installs mdBook in target/tools)
	@test -x target/tools/bin/mdbook || command -v mdbook >/dev/null || $(CARGO) install --locked --root target/tools mdbook
	PATH="$$PATH:$(CURDIR)/target/tools/bin" mdbook build

# Does not build, so that `sudo make install` leaves no files of root in the target folder.
install: ## Install what `make build`, or `make full`, made below PREFIX (/usr/local)
	@test -x '$(TARE)' || { echo '$(TARE) is not there: make build' >&2; exit 1; }
	@TARE='$(TARE)' scripts/install.sh '$(DESTDIR)$(PREFIX)'
	@LIBRARIES='$(TARGET_DIR)/release' scripts/install-library.sh '$(DESTDIR)$(PREFIX)' '$(PREFIX)'

clean: ## Remove everything that was built
	$(CARGO) clean
	rm -rf fuzz/corpus fuzz/artifacts
