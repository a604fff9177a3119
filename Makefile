# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
# Everything is installed below .venv/ and runs below .local/; nothing else on the machine is touched.

PYTHON ?= python3.11
BIN     = .venv/$(1)/bin
SYNC    = VIRTUAL_ENV=.venv/$(1) $(call BIN,tools)/uv pip sync --quiet --compile-bytecode $(2)

ENVIRONMENTS = .venv/airflow/.ready .venv/trainer/.ready .venv/local_gcp/.ready
LOCKS        = requirements trainer/requirements trainer/requirements-gpu local_gcp/requirements tests/requirements tools

.PHONY: help demo stop clean distclean check reference setup test test-slow lint format lock bench
.DEFAULT_GOAL := help

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup ## Run the two experiments in full on this machine, up to a model that answers
	@$(call BIN,airflow)/python -m demo run $(EXPERIMENT) $(if $(CONF),--conf '$(CONF)')

stop: ## End everything that `make demo` started
	@if [ -x $(call BIN,airflow)/python ]; then $(call BIN,airflow)/python -m demo stop; fi

clean: stop ## Stop, and remove the state of local runs (.local/): buckets, jobs, Airflow's database
	rm -rf .local

distclean: clean ## Also remove the Python environments (.venv/)
	rm -rf .venv

check: .venv/airflow/.ready ## Check every experiment file; says what a run of each costs at most
	@cd dags && ../$(call BIN,airflow)/python -m research check experiments/*.yaml

reference: .venv/airflow/.ready ## Print every key that an experiment file may have
	@cd dags && ../$(call BIN,airflow)/python -m research reference

setup: $(ENVIRONMENTS) ## Install the three Python environments

test: setup ## Run the tests (without those marked slow)
	@sh tests/run.sh -m "not slow"

test-slow: setup ## Run every test, the slow ones too
	@sh tests/run.sh

lint: .venv/tools/.ready ## Check style, and the Dockerfile
	@$(call BIN,tools)/ruff check . && $(call BIN,tools)/ruff format --check . \
	  && $(call BIN,tools)/hadolint docker/Dockerfile

format: .venv/tools/.ready ## Apply the style
	@$(call BIN,tools)/ruff format . && $(call BIN,tools)/ruff check --fix .

# The tests' pins must not contradict any of the three environments they are installed into.
lock: .venv/tools/.ready ## Compile every *.in into pinned requirements
	@for lock in $(LOCKS); do \
	  constraints=; \
	  if [ $$lock = tests/requirements ]; then \
	    constraints="-c requirements.txt -c trainer/requirements.txt -c local_gcp/requirements.txt"; fi; \
	  echo "$$lock.in -> $$lock.txt"; \
	  $(call BIN,tools)/uv pip compile --quiet --python-version 3.11 --no-emit-index-url \
	    --no-annotate --no-header $$constraints $$lock.in -o $$lock.txt || exit 1; \
	done

bench: setup ## Measure speed and memory (benchmarks/)
	PYTHONPATH=. $(call BIN,local_gcp)/python benchmarks/bigquery.py
	PYTHONPATH=. $(call BIN,trainer)/python benchmarks/export.py
	PYTHONPATH=. $(call BIN,trainer)/python benchmarks/training.py
	PYTHONPATH=. $(call BIN,trainer)/python benchmarks/serving.py

.venv/tools/.ready: tools.txt
	@command -v $(PYTHON) >/dev/null || { echo "Trellis needs $(PYTHON) (set PYTHON=... to its path)"; exit 1; }
	@echo "Setting up tools"
	@$(PYTHON) -m venv .venv/tools
	@$(call BIN,tools)/python -m pip install --quiet --disable-pip-version-check -r tools.txt
	@touch $@

.venv/airflow/.ready: requirements.txt
.venv/trainer/.ready: trainer/requirements.txt
.venv/local_gcp/.ready: local_gcp/requirements.txt

# Each environment is exactly its pins plus the test tools; --compile-bytecode makes cold imports
# about three times faster.
$(ENVIRONMENTS): .venv/%/.ready: tests/requirements.txt | .venv/tools/.ready
	@echo "Setting up the $* environment"
	@[ -x $(call BIN,$*)/python ] || $(call BIN,tools)/uv venv --quiet --python $(PYTHON) .venv/$*
	@$(call SYNC,$*,$^)
	@touch $@
