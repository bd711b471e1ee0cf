.PHONY: help build test soak bench bench-growth bench-check demo lint proto man

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

build: ## the command line and the drivers, into bin/
	go build -o bin/ ./cmd/... ./drivers/...

test: ## all tests, against real servers, installed first where missing; GOTESTFLAGS=-race adds flags
	scripts/test $(GOTESTFLAGS)

soak: ## the long checks, for an hour or so
	scripts/test -tags=soak -run='^TestSoak' -timeout=3h $(GOTESTFLAGS)

bench: ## measure everything, into docs/benchmarks.md; seven minutes, or one with BENCHFLAGS=-short, which writes nothing
	scripts/install-programs
	go -C bench run . run -document=../docs/benchmarks.md -baseline=baseline.json $(BENCHFLAGS)

bench-growth: ## measure growth, into docs/benchmarks.md; BENCHFLAGS=-entries=10000000 goes further
	go -C bench run . growth -document=../docs/benchmarks.md $(BENCHFLAGS)

bench-check: ## PASS or FAIL: are the ratios what they were, or on another machine above the floors?
	scripts/install-programs
	go -C bench run . check $(BENCHFLAGS)

demo: ## the main job on a directory tree: this one, or DIR=...
	go run ./cmd/cachewright demo $(if $(DIR),--dir="$(DIR)")

lint: ## formatting, vet, staticcheck, cross-builds, modules, generated code
	scripts/lint

proto: ## generate the protocol's Go code
	go -C tools run ./protogen ../internal/wire/driverpb driver.proto

man: ## the manual pages, into bin/man/man1
	go run ./cmd/cachewright man bin/man/man1
