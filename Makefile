# Forebay's commands. `make help` lists them.

.DEFAULT_GOAL := help
.NOTPARALLEL:
# All targets but files are commands.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# The console's packages and its build, each updated if its sources are newer.
CONSOLE_PACKAGES := web/node_modules/.package-lock.json
CONSOLE := web/dist/index.html
CONSOLE_SOURCES := $(shell find web/src web/public web/scripts docs -type f ! -path web/src/api/schema.ts ! -path 'docs/api/reference/*') web/index.html web/vite.config.ts web/tsconfig.json
# The document of `forebay openapi`, of which the console's types and the reference are made.
OPENAPI := $(TARGET_DIR)/openapi.json
CONFIG ?= config/quickstart.toml
# `make fuzz`: seconds per target, and a part of the names of targets. The flags add LLVM's coverage counters.
FUZZ_SECONDS ?= 60
FUZZ_TARGET ?=
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters
# `make simulate`: the first seed, and how many follow.
SIMULATION_SEEDS ?= 20000
SIMULATION_FIRST_SEED ?= 0
DATA_DIR ?= data
# Empty where test-slow follows, which runs them as well.
CONSOLE_TESTS ?= console-tests
# Built first and not started by cargo, whose environment would become that of the steps.
XTASK = cargo build --quiet --package xtask && MAKE="$(MAKE)" $(TARGET_DIR)/debug/xtask
NEXTEST = $(shell cargo nextest --version 2>/dev/null)
# Clippy's driver is the compiler with more lints. Tests and the programs that they use are compiled by it, so that every
# crate is compiled once instead of twice. It optimizes less: what is measured or released is compiled without it.
LINTED = RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
TEST_ALL = $(if $(NEXTEST),cargo nextest run,cargo test --lib --bins --tests) --workspace

$(CONSOLE_PACKAGES): web/package.json web/package-lock.json
	@scripts/system-packages console
	@echo "==> Installing the console's packages"
# Not `npm ci`, which fails if a registry lacks the optional packages of other systems.
	cd web && npm install --no-save --silent
	@touch $@

$(CONSOLE): $(CONSOLE_PACKAGES) $(CONSOLE_SOURCES)
	@echo "==> Building the console"
	cd web && npm run --silent build

##@ Daily

run: ## Build the console and the programs, download the starter models, serve (CONFIG=config/quickstart.toml DATA_DIR=data)
	@scripts/system-packages run
	@scripts/run "$(CONFIG)" "$(DATA_DIR)"

console: $(CONSOLE) ## Build the web application in web/ alone; cargo embeds it when it builds

models: ## Fetch the two starter models into data/models, once, checked by SHA-256
	@scripts/system-packages models
	@scripts/fetch-models

check: ## The quick part of test: format, language, lints, unit tests
	@scripts/system-packages run
	@$(MAKE) --no-print-directory fmt-check language-check unit-tests

test: ## Format, language, lints, all tests with PostgreSQL, Redis and promtool, clients, OpenAPI, single sign-on, traces, files in buckets, the console
	@scripts/system-packages test
# Everything is built first: in parallel, cargo would wait for its lock, and tests read the console's files. The Rust tests
# leave time for the others; the browser needs both cores.
	+@$(XTASK) run-steps fmt-check language-check console test-build \
		all-tests+console-checks,helm-checks,client-tests,openapi-tests,oidc-tests,tracing-tests,bucket-tests $(CONSOLE_TESTS)
	@echo "==> All good"

docs: openapi ## Build the documentation site into target/book (offline, once mdBook is installed in .cache)
	@scripts/openapi-reference "$(OPENAPI)"
	@"$$(scripts/tool mdbook)" build --dest-dir "$(abspath $(TARGET_DIR))/book"

docs-check: docs ## Build the site and check its links, anchors and the paths it names
	@echo "==> Documents: pages, links, paths"
	@$(XTASK) check-docs "$(TARGET_DIR)/book"

console-types: $(CONSOLE_PACKAGES) openapi ## Write the console's types, which its checks and editors need, from the description of the API
	@cd web && npm run --silent schema -- "$(abspath $(OPENAPI))"

screenshots: $(CONSOLE) ## Pictures of every page of the console, light and dark, into web/screenshots/
	@scripts/system-packages test
	@$(MAKE) --no-print-directory models
	$(LINTED) cargo build --workspace --bins
	cd web && npm run --silent screenshots

help: ## Show this list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

##@ Slow

test-slow: ## What CI runs after test: dependencies, the documentation site, a short campaign of faults, instructions per call, the autoscaler at its real pace, a long batch on three nodes, the console in both themes, a large scan of the API
	@scripts/system-packages test
# The stories mostly wait, so what needs no quiet machine runs beside them.
	+@$(XTASK) run-steps console test-build campaign-short instructions-check \
		story-tests+docs-check+supply-chain-check,openapi-tests-slow+start-check,console-tests-slow
	@echo "==> All good"

test-kubernetes: ## Replicas as Pods and three nodes, with a real control plane that is built once (CI runs it after test)
	@scripts/system-packages test-kubernetes
	@tests/cluster/kubernetes-control-plane build >/dev/null
	@echo "==> Building the binaries used by the tests"
	$(LINTED) cargo build --workspace --bins
	@scripts/fetch-models
	@echo "==> Tests, with their own control plane, PostgreSQL and Redis"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; $(LINTED) scripts/with-services tests/cluster/with-kubernetes tests/cluster/test-kubernetes

test-cluster: ## Gateways by Helm and replicas on two real nodes: kubelet, containerd; needs root
	@scripts/system-packages test-cluster
	@tests/cluster/kubernetes-control-plane build >/dev/null
	@tests/cluster/kubernetes-control-plane build node >/dev/null
	@echo "==> Building the binaries"
	$(LINTED) cargo build --workspace --bins
	@scripts/fetch-models
	@tests/cluster/test-cluster $(SCENARIOS)

VLLM ?= .cache/vllm
test-engines: ## Before every release, real engines: llama.cpp's server (Debian sid's, unpacked once; needs root) and vLLM on the CPU (6 GB, once; VLLM=.cache/vllm)
	@scripts/system-packages test-engines
	@scripts/fetch-models
	@scripts/test-dependencies clients
	@tests/engines/install_vllm.py "$(VLLM)" data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf
	@echo "==> Building the binaries used by the tests"
	$(LINTED) cargo build --workspace --bins
	@echo "==> Tests, with llama.cpp's server"
	@$(LINTED) scripts/with-llama-server $(if $(NEXTEST),cargo nextest run --package server --no-tests fail --run-ignored only \
		-E 'test(/^metering::real::/)',cargo test --package server --test it metering::real:: -- --ignored)
	@FOREBAY_TEST_VLLM="$(abspath $(VLLM))" scripts/with-llama-server python3 -B tests/engines/run.py
	@echo "==> Log probabilities of forebay-engine and of transformers"
	@"$(VLLM)/venv/bin/python" -B tests/engines/reference.py

test-proxies: ## Cold starts of two minutes through nginx and HAProxy with their default timeouts: SDKs and agents, with keep_alive and without
	@scripts/system-packages test-proxies
	@scripts/test-dependencies clients
	@echo "==> Building the binaries used by the tests"
	$(LINTED) cargo build --workspace --bins
	@echo "==> Cold starts behind proxies"
	@.cache/clients/python/bin/python -B tests/proxies/run.py

test-caches: ## Every step that fills a cache, with empty caches, such as the build of Kubernetes and of mdBook (half an hour)
	@$(XTASK) test-caches

test-memory: ## Attack Forebay under a memory limit of 512 MiB; needs root (MEMORY_ARGS="--seconds 20" for a short run)
	@scripts/system-packages test
	@echo "==> Building the release binaries"
	cargo build --release --package server --package bench --package testbed --bins
	@echo "==> Attacking (two minutes each)"
	@exec $(TARGET_DIR)/release/forebay-memory-test --forebay $(TARGET_DIR)/release/forebay $(MEMORY_ARGS)

test-isolation: ## Measure how far one tenant's attacks slow another's calls on one core (ISOLATION_ARGS="--only bombs")
	@scripts/system-packages test
	@echo "==> Building the release binaries"
	cargo build --release --package server --package bench --package testbed --bins
	@echo "==> Attacking (about a minute each; the machine should be idle)"
	@exec $(TARGET_DIR)/release/forebay-isolation-test --forebay $(TARGET_DIR)/release/forebay $(ISOLATION_ARGS)

CAMPAIGN_SECONDS ?= 600
CAMPAIGN_SEED ?=
CAMPAIGN = ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; exec $(TARGET_DIR)/debug/forebay-campaign \
	--forebay $(TARGET_DIR)/debug/forebay --fake-engine $(TARGET_DIR)/debug/fake-engine
campaign: ## Three nodes under load and faults, and a check of all that happened; needs root (CAMPAIGN_SECONDS=600, CAMPAIGN_SEED to repeat one)
	@scripts/system-packages campaign
	@scripts/fetch-models
	@echo "==> Building the binaries"
	cargo build --package server --package engine --package campaign --package testbed --bins
	@$(CAMPAIGN) --seconds $(CAMPAIGN_SECONDS) $(if $(CAMPAIGN_SEED),--seed $(CAMPAIGN_SEED)) \
		--results $(TARGET_DIR)/campaign $(CAMPAIGN_ARGS)

test-upgrade: ## Upgrade from 0.2.0 under load, go back, and upgrade again; needs root (PREVIOUS=COMMIT for another commit)
	@scripts/system-packages campaign
	@scripts/fetch-models
	@echo "==> Building the binaries"
	$(LINTED) cargo build --workspace --bins
	@scripts/test-upgrade

simulate: ## Run many seeds of the control plane's simulation, on all cores (SIMULATION_SEEDS=20000 SIMULATION_FIRST_SEED=0)
	@echo "==> Building the simulation, then $(SIMULATION_SEEDS) seeds from $(SIMULATION_FIRST_SEED) on"
	SIMULATION_SEEDS=$(SIMULATION_SEEDS) SIMULATION_FIRST_SEED=$(SIMULATION_FIRST_SEED) \
		cargo test --quiet --profile checked --package control --lib -- --nocapture the_control_plane_keeps_its_rules_whatever_fails

fuzz: ## Fuzz the parsers, guided by coverage (FUZZ_SECONDS=60 for each target, FUZZ_TARGET=request_heads for one)
	@echo "==> Building the targets with coverage counters, then $(FUZZ_SECONDS) s each"
# With a --target, the flags do not apply to build scripts and procedural macros.
	FUZZ_SECONDS=$(FUZZ_SECONDS) RUSTFLAGS="$(FUZZ_FLAGS)" cargo test --quiet --profile checked \
		--target "$$(rustc -vV | sed -n 's/^host: //p')" --target-dir "$(TARGET_DIR)/fuzz/build" --lib \
		--package http1 --package json --package dataplane --package store --package control --package fleet --package weights --package server -- --nocapture --test-threads 1 "fuzz_tests::$(FUZZ_TARGET)"

IN_VALGRIND := target."cfg(all())".runner = ["valgrind", "-q", "--error-exitcode=9"]
test-valgrind: ## Tests of the parsers in Valgrind, which sees reads beyond the end of a buffer
	@scripts/system-packages test-valgrind
	@echo "==> JSON reader, heads and framing in Valgrind"
	PROPTEST_CASES=32 cargo test --lib --package json --config '$(IN_VALGRIND)' -- --test-threads 1 --skip every_character
	PROPTEST_CASES=32 cargo test --lib --package http1 --config '$(IN_VALGRIND)' -- --test-threads 1 \
		fuzz_tests::request_heads fuzz_tests::response_heads fuzz_tests::framing

##@ Release

dist: $(CONSOLE) ## Build the packages into dist/: tarball, Debian package, SBOMs, checksums (the first time takes half an hour)
	@scripts/system-packages dist
	@scripts/dist

image: ## Build the container images into dist/, from its tarball and without a registry; needs root
	@scripts/system-packages image
	@scripts/build-image

test-image: ## Start the images of dist/ as containers and chat; needs root
	@scripts/system-packages test-image
	@scripts/fetch-models
	@scripts/test-image

test-packages: ## Install the Debian package of dist/ in a clean Debian and chat with it; needs root
	@scripts/system-packages test-packages
	@scripts/fetch-models
	@scripts/test-packages

##@ Benchmarks

bench: ## Compare Forebay with nginx as a plain proxy on this machine and print a table
	@scripts/system-packages bench
	@echo "==> Building the release binaries"
	cargo build --release --package server --package bench --package testbed --bins
	@echo "==> Measuring (some minutes; the machine should be idle)"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; exec $(TARGET_DIR)/release/forebay-bench \
		--forebay $(TARGET_DIR)/release/forebay --fake-engine $(TARGET_DIR)/release/fake-engine $(BENCH_ARGS)

bench-profile: ## Count the instructions of a call by component, and sample its CPU time with perf if there is one
	@scripts/system-packages test-valgrind
	@echo "==> Building the release binaries"
	cargo build --release --package server --package bench --package testbed --bins
	@echo "==> Counting and sampling (about two minutes; the machine should be idle)"
	@exec $(TARGET_DIR)/release/forebay-profile --sample --forebay $(TARGET_DIR)/release/forebay $(BENCH_ARGS)

bench-routing: ## Compare routers in front of simulated engines (BENCH_ARGS="--trace FILE --peers FOLDER")
	@scripts/system-packages bench
	@echo "==> Building the release binaries"
	cargo build --release --package server --package bench --package testbed --bins
	@echo "==> Replaying (about two minutes per router)"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; exec $(TARGET_DIR)/release/forebay-routing-bench \
		--forebay $(TARGET_DIR)/release/forebay $(BENCH_ARGS)

bench-fairness: ## Measure how tenants and classes of calls share a full engine, and fail if a bound is missed
	@scripts/system-packages bench
	@echo "==> Building the release binaries"
	cargo build --release --package server --package bench --bins
	@echo "==> Measuring (about five minutes)"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; exec $(TARGET_DIR)/release/forebay-fairness-bench \
		--forebay $(TARGET_DIR)/release/forebay $(BENCH_ARGS)

bench-engine: models ## Measure forebay-engine: tokens per second for 1, 4 and 8 streams
	@scripts/system-packages engine
	@echo "==> Building the engine (llama.cpp takes some minutes the first time)"
	cargo bench --package engine --bench engine -- $(BENCH_ARGS)

bench-dashboard: ## Fill a store with a million requests and time dashboards, on SQLite and on PostgreSQL
	@scripts/system-packages test
	@echo "==> Building the release binaries"
	cargo bench --package server --bench dashboard --no-run
	@echo "==> SQLite"
	cargo bench --package server --bench dashboard -- $(BENCH_ARGS)
	@echo "==> PostgreSQL"
	@scripts/with-services sh -c 'cargo bench --package server --bench dashboard -- --store "$$FOREBAY_TEST_POSTGRES" $(BENCH_ARGS)'

# ---- Steps of the commands above

# Read by crates/engine/llama-cpp.cmake when llama.cpp is compiled.
test-build: export FOREBAY_ENGINE_QUICK = 1

# With the features of the whole workspace, so that a later build of all programs does not compile anything again.
openapi:
	$(LINTED) cargo build --quiet --workspace --bin forebay
	@"$(TARGET_DIR)/debug/forebay" openapi >"$(OPENAPI)"

helm-checks: # needs the debug build of forebay
	@echo "==> The Helm chart"
	@scripts/test-helm "$(TARGET_DIR)/debug/forebay"

campaign-short: # needs the debug builds
	@echo "==> A short campaign: three nodes under load and faults"
	@scripts/fetch-models
	@$(CAMPAIGN) --short --results $(TARGET_DIR)/campaign-short

fmt-check:
	@echo "==> Format"
	cargo fmt --all --check

language-check:
	@echo "==> Language"
	@$(XTASK) check-language

supply-chain-check:
	@echo "==> Dependencies: licences, sources, bans, advisories"
	@$(XTASK) check-dependencies

start-check: # what `make run` builds, which has fewer features
	@echo "==> The build of make run"
	nice cargo check --no-default-features --package server --package fleet

caches-check: # those steps of test-caches whose files have changed since they passed
	@echo "==> Steps that fill caches"
	@$(XTASK) test-caches --changed

unit-tests:
	@echo "==> Lints and unit tests"
	$(LINTED) cargo test --workspace --lib --bins --test architecture --quiet

test-build:
	@echo "==> Lints; building the tests and the binaries that they use"
	$(LINTED) cargo build --workspace --all-targets
	$(LINTED) $(TEST_ALL) --no-run

all-tests: test-build
	@echo "==> Starter models, for the tests with real weights"
	@scripts/fetch-models
	@echo "==> Tests, with their own PostgreSQL and Redis"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; $(LINTED) scripts/with-services $(TEST_ALL)

INSTRUCTIONS := crates/bench/instructions.toml
COUNT_INSTRUCTIONS = scripts/system-packages test-valgrind && \
	exec $(TARGET_DIR)/debug/forebay-profile --forebay $(TARGET_DIR)/debug/forebay

instructions-check: test-build
	@echo "==> Instructions per call"
	@$(COUNT_INSTRUCTIONS) --check $(INSTRUCTIONS)

instructions-update: test-build # after a change that is worth its instructions, or saves some
	@$(COUNT_INSTRUCTIONS) --write $(INSTRUCTIONS)

story-tests: test-build
	@scripts/fetch-models
	@echo "==> Dedicated endpoints at the pace of the real autoscaler, and a long batch on three nodes"
	@$(LINTED) scripts/with-services $(if $(NEXTEST),cargo nextest run --workspace --profile slow,cargo test --package server --test it -- dedicated::story:: batches::three_nodes::)

client-tests:
	@echo "==> Building the binaries for the client tests"
	$(LINTED) cargo build --workspace --bins
	@echo "==> SDKs and agents"
	@scripts/test-clients

openapi-tests:
	@echo "==> Building the binaries for the OpenAPI tests"
	$(LINTED) cargo build --workspace --bins
	@echo "==> /openapi.json: schemathesis, and a TypeScript client"
	@scripts/test-openapi

openapi-tests-slow:
	$(LINTED) cargo build --workspace --bins
	@echo "==> /openapi.json with more requests"
	@FOREBAY_TEST_SLOW=1 scripts/test-openapi

oidc-tests:
	@echo "==> Single sign-on with a real provider"
	@python3 -B tests/oidc/run.py

console-checks: $(CONSOLE) console-types
	@echo "==> Console: types, lints, unit tests, size of the first page"
	cd web && npm run --silent typecheck && npm run --silent lint && npm run --silent test && npm run --silent size

console-tests: $(CONSOLE)
	@echo "==> Building the binaries for the browser tests"
	$(LINTED) cargo build --workspace --bins
	@scripts/fetch-models
	@echo "==> Console in a browser"
	cd web && npm run --silent e2e

console-tests-slow: $(CONSOLE)
	$(LINTED) cargo build --workspace --bins
	@scripts/fetch-models
	@echo "==> Console in a browser, in both themes and on a phone"
	cd web && npm run --silent e2e:slow

tracing-tests:
	@echo "==> Building the binaries for the tracing tests"
	$(LINTED) cargo build --workspace --bins
	@echo "==> Traces, sent to a receiver that decodes them"
	@scripts/test-tracing

bucket-tests:
	@echo "==> Building the binaries for the tests of buckets"
	$(LINTED) cargo build --workspace --bins
	@echo "==> Files in a bucket of a server that checks signatures and policies"
	@scripts/test-buckets
