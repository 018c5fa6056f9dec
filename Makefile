# retrace. `make demo` and `make test` need only Go, and install what else they
# want through `make setup`. `make help` lists the rest.

SHELL := /bin/bash
GO    ?= go

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOLS   := $(CURDIR)/.tools

GOLANGCI := v2.15.0
GOFUMPT  := v0.12.0

FUZZTIME ?= 30s
ROUNDS   ?= 5
DURATION ?= 5s

# The end-to-end tests measure time: they run alone, after the others.
E2E   := ./internal/e2e/...
UNITS  = $(shell $(GO) list ./... | grep -v /internal/e2e)

.PHONY: help setup setup-bench build demo test test-short check fmt fuzz bench peers clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

setup: ## install what the tests need: Debian packages, PostgreSQL 18 from npm
	@.ci/setup test

setup-bench: ## the same, and the rivals of the bench
	@.ci/setup bench

build: ## bin/retrace
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/retrace ./cmd/retrace

demo: ## record a real pgbench run, replay it on a second server, compare
	@.ci/setup demo
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/retrace ./cmd/retrace
	@$(GO) build -o bin/demo ./internal/demo
	@exec bin/demo -retrace bin/retrace

test: setup ## vet, every test, the live ones included
	$(GO) vet ./...
	$(GO) test -race -timeout 25m $(UNITS)
	$(GO) test -count=1 -timeout 20m $(E2E)

test-short: ## what needs no server and no minutes
	$(GO) vet ./...
	$(GO) test -short $(UNITS)

check: setup fmt lint test ## formatting, linters, all tests

format: $(TOOLS)/gofumpt-$(GOFUMPT) ## format all files
	$< -w $$(git ls-files '*.go')

.PHONY: lint format
fmt: $(TOOLS)/gofumpt-$(GOFUMPT) ## fails when a file is not gofumpt's
	@unformatted=$$($< -l $$(git ls-files '*.go')); \
	if [[ -n $$unformatted ]]; then echo "not gofumpt's format:"; echo "$$unformatted"; exit 1; fi

lint: $(TOOLS)/golangci-lint-$(GOLANGCI)
	$< run ./...

$(TOOLS)/gofumpt-$(GOFUMPT):
	@echo "building gofumpt $(GOFUMPT)"
	@mkdir -p $(TOOLS) && GOBIN=$(TOOLS) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT) && mv $(TOOLS)/gofumpt $@

$(TOOLS)/golangci-lint-$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI): some minutes, once"
	@mkdir -p $(TOOLS) && GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI) && mv $(TOOLS)/golangci-lint $@

fuzz: ## every fuzz target for FUZZTIME (30s)
	@set -euo pipefail; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "$$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

bench: setup-bench build ## the rows of the budget against their rivals; ROUNDS=5 DURATION=5s
	@$(GO) build -o bin/bench ./internal/bench
	@exec bin/bench -retrace bin/retrace -rounds $(ROUNDS) -duration $(DURATION) $(BENCH)

peers: setup build ## pgx's own test suite, direct and through the proxy
	@$(GO) build -o bin/peers ./internal/peers
	@exec bin/peers -retrace bin/retrace

clean: ## what make built
	rm -rf bin .tools
