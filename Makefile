# SPDX-License-Identifier: Apache-2.0
# The front door: Meson and Ninja do the work. `make help` lists what there is.

FUZZ_SECONDS ?= 600
SWAPS ?= 20000

.DEFAULT_GOAL := build
.PHONY: help deps build run test test-endurance test-kernel test-upgrade lint fuzz bench clean

help: ## print this list
	@sed -n 's/^\([a-z%-]*\):.*## /\1	/p' Makefile | expand -t 14

deps: ## install the Debian packages of tools/packages that are missing
	@tools/install-packages

build: ## build the programs (gcc, release); each runs as build/bin/NAME
	@tools/build release

run: deps build ## start a small lab and keep it until Ctrl-C
	@tools/run-lab

test: deps ## build the trees and run every test; the last line counts them
	@tools/run-tests

test-endurance: deps ## maglev-router under load for SWAPS (20000) configurations; about ten minutes
	@tools/build release && tools/build asan
	@MAGLEV_ENDURANCE=$(SWAPS) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/e2e/test_router_endurance.py

test-kernel: build ## run the BPF tests and the recipes of the guide on Debian 12's own kernel, in qemu; some minutes
	@tools/install-packages kmod qemu-system-x86
	@tools/test-kernel

test-upgrade: build ## replace the maglevd of an older revision (REV=...) by this one, and back, under traffic
	@tools/test-upgrade $(REV)

lint: ## only the checks of the source
	@tools/run-tests lint

fuzz: ## each fuzz harness for FUZZ_SECONDS (600)
	@tools/run-tests --again --fuzz-seconds $(FUZZ_SECONDS) fuzz

bench: deps $(patsubst bench/%/run,bench-%,$(wildcard bench/*/run)) ## all benchmarks, one after the other

bench-%: deps build ## one benchmark: bench/NAME/run
	@bench/$*/run

clean: ## remove the trees
	rm -rf build build-asan build-tsan
