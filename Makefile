# SPDX-License-Identifier: Apache-2.0
# The front door: Meson and Ninja do the work. `make help` lists what there is.

FUZZ_SECONDS ?= 600
SWAPS ?= 20000
SECONDS ?= 3600
prefix ?= /usr/local

.DEFAULT_GOAL := build
.PHONY: help deps build deb install uninstall manifests containers run run-kube soak test test-burst test-dashboard test-deb test-endurance test-kernel test-speakers test-upgrade conformance lint fuzz bench clean

help: ## print this list
	@sed -n 's/^\([a-z%-]*\):.*## /\1	/p' Makefile | expand -t 16

deps: ## install the Debian packages of tools/packages that are missing
	@tools/install-packages

build: ## build the programs (gcc, release); each runs as build/bin/NAME
	@tools/build release

install: build ## install all of it below DESTDIR and prefix (/usr/local): programs, units, man pages, completions, examples
	@meson configure build -Dprefix=$(prefix) >/dev/null && ninja -C build --quiet && DESTDIR=$(DESTDIR) meson install -C build --no-rebuild --quiet

uninstall: ## remove what `make install` with the same DESTDIR and prefix installed; configurations stay
	@meson configure build -Dprefix=$(prefix) >/dev/null && DESTDIR=$(DESTDIR) tools/uninstall build

run: deps build ## start a small lab and keep it until Ctrl-C
	@tools/run-lab

run-kube: deps build ## start a Kubernetes API with our programs beside it, and keep it until Ctrl-C (root)
	@tools/run-kube

manifests: ## write deploy/kubernetes from the chart deploy/helm/maglev
	@tools/render-manifests

containers: ## build the images of deploy/docker with docker, podman or buildah (REGISTRY=, TAG=, BASE=, WEB=disabled)
	@tools/build-containers

deb: deps ## build the Debian packages into dist/ (dpkg-buildpackage), and check them (lintian)
	@tools/install-packages debhelper fakeroot lintian
	@tools/build-deb

test: deps ## build the trees and run every test; the last line counts them
	@tools/run-tests

soak: deps build ## the whole lab under load with a fault every ten seconds, for SECONDS (3600); the same SEED gives the same faults (root)
	@tools/soak --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

test-burst: deps ## 1,000 Services created and deleted three times; flat memory of maglev-controller
	@tools/build asan
	@MAGLEV_BUILD=build-asan MAGLEV_TEST_BURST=1000 /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/e2e/test_controller_faults.py -k burst

test-endurance: deps ## maglev-router under load for SWAPS (20000) configurations; about ten minutes
	@tools/build release && tools/build asan
	@MAGLEV_ENDURANCE=$(SWAPS) /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/e2e/test_router_endurance.py

test-deb: deps ## install, upgrade and purge the packages of dist/ under systemd, in qemu (root); some minutes
	@tools/install-packages cpio kmod qemu-system-x86
	@tools/test-deb

test-kernel: build ## run the BPF tests and the recipes of the guide on Debian 12's own kernel, in qemu; some minutes
	@tools/install-packages kmod qemu-system-x86
	@tools/test-kernel

test-dashboard: deps ## the dashboard with three servers of 1,000 frontends (FRONTENDS=N); prints what holds the page up; two minutes
	@tools/build release
	@MAGLEV_BUILD=$(CURDIR)/build MAGLEV_TEST_FRONTENDS=$(or $(FRONTENDS),1000) \
		/usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/e2e/test_dashboard_scale.py

test-speakers: deps ## maglev-speaker in a cluster with 1,000 Services, and 100 of them on one API server; some minutes
	@tools/build release && tools/build asan
	@SERVICES=1000 SPEAKERS=100 /usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/e2e/test_kspeaker_scale.py

test-upgrade: build ## replace the maglevd of an older revision (REV=...) by this one, and back, under traffic
	@tools/test-upgrade $(REV)

conformance: deps build ## the official Gateway API suites, all profiles; reports go to docs/conformance; five to ten minutes
	@tests/conformance/run

lint: ## only the checks of the source
	@tools/run-tests lint

fuzz: ## each fuzz harness for FUZZ_SECONDS (600)
	@tools/run-tests --again --fuzz-seconds $(FUZZ_SECONDS) fuzz

bench: deps $(patsubst bench/%/run,bench-%,$(wildcard bench/*/run)) ## all benchmarks, one after the other

bench-%: deps build ## one benchmark: bench/NAME/run
	@bench/$*/run

clean: ## remove the trees
	rm -rf build build-asan build-tsan
