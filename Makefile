# Everything builds without cgo; only the race detector needs it.
export CGO_ENABLED := 0

GO           ?= go
VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
FUZZTIME     ?= 5m
RAPID_CHECKS ?= 10000
FOR          ?= 5m
GOLANGCI     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.14.0

# A CI run tests what is there, not what a cache remembers.
TESTFLAGS := $(if $(CI),-count=1)

.PHONY: help demo test race fuzz lint bench build man deb container torture
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: build ## build perdure and run its demonstration
	bin/perdure demo

test: ## vet and test everything
	$(GO) vet ./...
	$(GO) test -timeout 30m $(TESTFLAGS) ./...

race: ## test everything under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race $(TESTFLAGS) ./...

fuzz: ## run every fuzz target for FUZZTIME each, then the property tests with RAPID_CHECKS cases
	@set -e; for pkg in $$($(GO) list ./...); do \
		tests=$$($(GO) test -list '^Fuzz' "$$pkg"); \
		for target in $$(printf '%s\n' "$$tests" | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s "$$pkg"; \
		done; \
	done
	RAPID_CHECKS=$(RAPID_CHECKS) $(GO) test -count=1 -timeout 0 ./...

lint: ## run golangci-lint at its pinned version
	$(GO) run $(GOLANGCI) run ./...

bench: ## run the benchmarks
	$(GO) test -run='^$$' -bench=. -benchmem ./...

build: ## build bin/perdure
	$(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o bin/perdure ./cmd/perdure

man: build ## write manual pages to bin/man
	bin/perdure man --dir bin/man

deb: build ## make a Debian package in bin (needs dpkg-deb)
	packaging/deb.sh bin/perdure '$(VERSION)' "$$(dpkg --print-architecture)" bin

container: ## build a container image named perdure (needs podman or docker)
	$$(command -v podman || command -v docker) build -f packaging/Containerfile --build-arg VERSION='$(VERSION)' -t perdure .

torture: ## hurt everything in every way for FOR, print one table, then simulate for as long
	cd internal/torture && PERDURE_TORTURE_FOR=$(FOR) $(GO) test -count=1 -timeout 0
	PERDURE_TORTURE=long PERDURE_SIMULATE_FOR=$(FOR) $(GO) test -count=1 -timeout 0 -v ./internal/simulate
	PERDURE_TORTURE=long $(GO) test -count=1 -timeout 0 -v -run 'Linearizable|Once|TestStore' ./store/postgres ./store/nats
	PERDURE_MESH=$(FOR) $(GO) test -count=1 -timeout 0 -v -run TestFiveNodesThatAreCutApartComeToOneEnd ./cmd/perdure
	PERDURE_RALPH_RUNS=1000 $(GO) test -count=1 -timeout 0 -v -run EachTaskIsDoneExactlyOnce ./workspace/ralph
