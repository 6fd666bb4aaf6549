# Forebay's commands. `make help` lists them.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run models test test-kubernetes check bench bench-engine fmt-check lint unit-tests all-tests client-tests openapi-tests oidc-tests

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
CONFIG ?= config/quickstart.toml
DATA_DIR ?= data

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Build the release binaries, fetch the starter models, serve (CONFIG=config/quickstart.toml DATA_DIR=data)
	@scripts/system-packages run
	@scripts/fetch-models
	@echo "==> Building forebay and its engine (the first build takes some minutes)"
	cargo build --release --package server --bin forebay --package engine --bin forebay-engine
	@echo "==> Serving $(CONFIG), data in $(DATA_DIR)"
	@exec $(TARGET_DIR)/release/forebay serve --config "$(CONFIG)" --data-dir "$(DATA_DIR)"

models: ## Fetch the two starter models into data/models, once, checked by SHA-256
	@scripts/system-packages models
	@scripts/fetch-models

test: ## Everything that CI runs: format, lints, all tests with PostgreSQL and Redis, official clients, OpenAPI, single sign-on
	@scripts/system-packages test
	@$(MAKE) --no-print-directory fmt-check lint all-tests client-tests openapi-tests oidc-tests
	@echo "==> All good"

test-kubernetes: ## Replicas as Pods and three nodes, with a real control plane that is built once (CI runs it after test)
	@scripts/system-packages test-kubernetes
	@scripts/kubernetes-control-plane build >/dev/null
	@echo "==> Building the binaries that tests start"
	cargo build --workspace --bins
	@scripts/fetch-models
	@echo "==> Tests, with a control plane, a PostgreSQL and a Redis of their own"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; scripts/with-services scripts/with-kubernetes scripts/test-kubernetes

check: ## The quick part of test: format, lints, unit tests
	@scripts/system-packages run
	@$(MAKE) --no-print-directory fmt-check lint unit-tests

bench: ## Compare Forebay with nginx as a plain proxy on this machine and print a table
	@scripts/system-packages bench
	@echo "==> Building the release binaries"
	cargo build --release --package server --package testkit --bins
	@echo "==> Measuring (some minutes; the machine should be idle)"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; exec $(TARGET_DIR)/release/forebay-bench \
		--forebay $(TARGET_DIR)/release/forebay --fake-engine $(TARGET_DIR)/release/fake-engine $(BENCH_ARGS)

bench-engine: models ## Measure forebay-engine: tokens per second for 1, 4 and 8 streams
	@scripts/system-packages engine
	@echo "==> Building the engine (llama.cpp takes some minutes the first time)"
	cargo bench --package engine --bench engine -- $(BENCH_ARGS)

fmt-check:
	@echo "==> Format"
	cargo fmt --all --check

lint:
	@echo "==> Lints"
	cargo clippy --workspace --all-targets -- -D warnings

unit-tests:
	@echo "==> Unit tests"
	cargo test --workspace --lib --bins --quiet

all-tests:
	@echo "==> Building the binaries that tests start"
	cargo build --workspace --bins
	@echo "==> The starter models, for the tests with real weights"
	@scripts/fetch-models
	@echo "==> Tests, with a PostgreSQL and a Redis of their own"
	@ulimit -n 65536 2>/dev/null || ulimit -n "$$(ulimit -Hn)"; scripts/with-services scripts/cargo-test

client-tests:
	@echo "==> Building the binaries that the clients call"
	cargo build --workspace --bins
	@echo "==> The official openai packages for Python and Node"
	@scripts/test-clients

openapi-tests:
	@echo "==> Building the binaries that are scanned"
	cargo build --workspace --bins
	@echo "==> /openapi.json: schemathesis, and a TypeScript client"
	@scripts/test-openapi

oidc-tests:
	@echo "==> Single sign-on with a real provider"
	@scripts/test-oidc
