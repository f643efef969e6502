# Commands a newcomer uses. Each sets up what it needs; `make demo` and `make test` need no step before them.
NODE := node_modules/.bin/node
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: demo test check bench fuzz model mutants adversarial dist e2e soak platforms audit setup build
.DEFAULT_GOAL := demo

setup:
	@bash e2e/setup.sh

# The host and the extension, as tests and demo use them.
build: setup
	@cargo build -q
	@npm run -s contract
	@npm run -s build

# The main job, in a real Chromium: list, open, read, fill, click, confirm. Prints a transcript and saves screenshots.
demo: build
	@$(NODE) e2e/demo.ts

# Every check that CI runs.
test: setup
	@$(NODE) e2e/steps.ts

# The fast inner loop.
check: setup
	cargo fmt --check
	cargo clippy -q --all-targets -- -D warnings
	cargo test -q --lib --test spec
	npm run -s contract
	npm run -s check
	npx biome ci --error-on-warnings .

bench: setup
	@cargo build -q --release
	@npm run -s contract
	@npm run -s build
	@$(NODE) e2e/bench/bench.ts

fuzz: setup
	@bash fuzz/run.sh $(or $(SECONDS_PER_TARGET),20)

model: setup
	@bash model/run.sh

# Every small break of the pure core, and whether a test notices it. More than an hour.
mutants:
	@FILE='$(FILE)' bash spec/mutants.sh

adversarial: build
	@$(NODE) e2e/review.ts

# The program to hand out: static, position independent, and attacked as such.
dist:
	@bash e2e/dist.sh

e2e: build
	@npm run -s e2e

# The code for macOS and Windows, type-checked with warnings denied. It is never run here.
platforms:
	@bash e2e/platforms.sh

# Many clients, real browsers, and processes that die at any time: `make soak SEED=7 SECONDS=60`.
soak: build
	@SEED=$(or $(SEED),1) SECONDS=$(or $(SECONDS),600) $(NODE) e2e/soak/soak.ts

# What is slow or seldom. Steps whose tool cannot be had here say "not run".
audit: setup
	@bash e2e/audit.sh
