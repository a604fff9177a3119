# Two commands matter: `make demo` and `make test`. `make help` lists the rest.
# Everything is installed below .venv/ and runs below .local/; nothing else on the machine is touched.

PYTHON ?= python3.11
BIN     = .venv/$(1)/bin
# A proxy that ends TLS has a certificate that the system's store knows: uv and pip (before 24.2) look
# only into their own.
UV      = UV_SYSTEM_CERTS=$(or $(UV_SYSTEM_CERTS),true) $(call BIN,tools)/uv
CERTS   = $(firstword $(PIP_CERT) $(REQUESTS_CA_BUNDLE) $(CURL_CA_BUNDLE) \
            $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt))
SYNC    = VIRTUAL_ENV=.venv/$(1) $(UV) pip sync --quiet $(2)
INSTALL = VIRTUAL_ENV=.venv/$(1) $(UV) pip install --quiet --no-deps $(addprefix --editable ,$(2))

# Cold imports are about three times faster with bytecode. A third of what is installed is never
# imported (-x). true: templates of some packages are no Python yet.
COMPILE = $(call BIN,$(1))/python -m compileall -qq -j 0 \
            -x '/(tests|google/ads|google/cloud/compute_v1|litellm|ray)/' .venv/$(1)/lib || true
# Else every process compiles the sources of this checkout again.
unexport PYTHONDONTWRITEBYTECODE

EDITABLE_airflow   = contracts plugins
EDITABLE_composer  = contracts plugins
EDITABLE_trainer   = contracts
EDITABLE_local_gcp = local_gcp

ENVIRONMENTS = .venv/airflow/.ready .venv/trainer/.ready .venv/local_gcp/.ready
# The Airflow of Composer's newest image, for tests alone.
COMPOSER     = .venv/composer/.ready
# Terraform, for tests alone.
INFRA        = .venv/infra/.ready
# Programs that benchmarks/ compares with.
PEERS        = .venv/peers/.ready
# What the system tests of Google's clients import beside .venv/airflow.
SUITES       = .venv/suites/.ready
# The images' locks (trainer/requirements-*) take their versions from trainer/requirements.txt.
LOCKS        = requirements trainer/requirements \
               $(addprefix trainer/requirements-,serve train export gpu) \
               local_gcp/requirements tests/requirements tests/composer tests/infra/requirements docs/requirements tools

# The images of their own that the experiments of a demo name.
IMAGES       = $(patsubst %,.venv/images/%/.ready,$(sort $(foreach name,$(EXPERIMENT),$(shell \
                 sed -n 's/^\(serve_\)\{0,1\}image: *\([a-z0-9-]*\) *\(#.*\)\{0,1\}$$/\2/p' dags/experiments/$(name).yaml 2>&-))))

.PHONY: composer-image newest image help demo up stop clean distclean check reference setup test test-slow test-images infra-test lint types types-contracts types-airflow types-trainer types-local_gcp environments docs format lock bench client-suites
.DEFAULT_GOAL := help

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup $(IMAGES) ## Run the two experiments in full on this machine, up to a served model
	@$(call BIN,airflow)/python -m demo run $(EXPERIMENT) $(if $(CONF),--conf '$(CONF)')

up: setup ## Start everything that the demo has, without running an experiment
	@$(call BIN,airflow)/python -m demo up

stop: ## End everything that `make demo` or `make up` started
	@if [ -x $(call BIN,airflow)/python ]; then $(call BIN,airflow)/python -m demo stop; fi

clean: stop ## Stop, and remove the state of local runs (.local/): buckets, jobs, Airflow's database
	rm -rf .local .cache

distclean: clean ## Also remove the Python environments (.venv/)
	rm -rf .venv

check: .venv/airflow/.ready ## Check every experiment file; print the cost limit of a run of each
	@$(call BIN,airflow)/trellis check dags/experiments/*.yaml

reference: .venv/airflow/.ready ## Print every key that an experiment file may have
	@$(call BIN,airflow)/trellis reference

image: .venv/images/$(NAME)/.ready ## Install the environment of an image of your own, dags/experiments/images/NAME.txt

setup: $(ENVIRONMENTS) ## Install the three Python environments

environments: setup $(COMPOSER) $(INFRA)

test: environments ## Run the tests (not those marked slow); ARGS="-k name" runs some
	@sh tests/run.sh -m "not slow"

test-slow: environments ## Run all tests, including slow ones
	@sh tests/run.sh

infra-test: $(INFRA) .venv/airflow/.ready ## Check infra/ without Google Cloud
	@$(call BIN,infra)/python -m pytest tests/infra

test-images: .venv/local_gcp/.ready ## Build docker/Dockerfile and test its images (as root; no Docker needed)
	@$(call BIN,local_gcp)/python -m pytest tests/docker

lint: .venv/tools/.ready ## Check style, import contracts, and the Dockerfile
	@$(call BIN,tools)/ruff check . && $(call BIN,tools)/ruff format --check . \
	  && PYTHONPATH=contracts:plugins:local_gcp/src $(call BIN,tools)/lint-imports --no-logo --no-cache \
	  && $(call BIN,tools)/hadolint docker/Dockerfile docker/Dockerfile.image \
       dags/experiments/programs/*/Dockerfile

composer-image: .venv/tools/.ready ## Resolve what Composer installs against the packages of its image
	@$(call BIN,tools)/python -m tests.composer_image

newest: .venv/tools/.ready ## Run the tests with the newest Airflow, TensorFlow and Python (.ci/newest)
	@.ci/newest

types: types-contracts types-airflow types-trainer types-local_gcp ## Check types, each part in its environment

types-contracts: .venv/trainer/.ready
	$(call BIN,trainer)/python -m mypy --strict contracts/trellis_contracts

types-airflow: .venv/airflow/.ready
	$(call BIN,airflow)/python -m mypy plugins/trellis dags

types-trainer: .venv/trainer/.ready
	$(call BIN,trainer)/python -m mypy trainer

types-local_gcp: .venv/local_gcp/.ready
	$(call BIN,local_gcp)/python local_gcp/check_types.py

docs: .venv/docs/.ready .venv/airflow/.ready ## Build the documentation site; a broken link fails the build
	@$(call BIN,airflow)/python docs/build.py
	@$(call BIN,docs)/zensical build --clean --strict && echo 'See .local/site/index.html'

format: .venv/tools/.ready ## Apply the style
	@$(call BIN,tools)/ruff format . && $(call BIN,tools)/ruff check --fix .

# The tests' pins must not contradict any of the three environments they are installed into.
lock: .venv/tools/.ready ## Compile every *.in into pinned requirements
	@for lock in $(LOCKS); do \
	  case $$lock in \
	    tests/composer) with="-c tests/requirements.txt" ;; \
	    tests/infra/*) with= ;; \
	    tests/*) with="-c requirements.txt -c trainer/requirements.txt -c local_gcp/requirements.txt" ;; \
	    trainer/*-gpu) with="-c trainer/requirements.txt --no-emit-package tensorflow-cpu" ;; \
	    trainer/*-*) with="-c trainer/requirements.txt" ;; \
	    *) with= ;; \
	  esac; \
	  echo "$$lock.in -> $$lock.txt"; \
	  $(UV) pip compile --quiet --python-version 3.11 --no-emit-index-url \
	    --no-annotate --no-header $$with $$lock.in -o $$lock.txt || exit 1; \
	done

bench: setup $(PEERS) ## Measure speed beside peers and limits, in one table; ROWS="NAME ..." measures some
	@$(call BIN,airflow)/python -m benchmarks $(ROWS)

client-suites: setup $(SUITES) ## Run the system tests of Google's own clients against local_gcp (slow)
	@$(call BIN,airflow)/python -m tests.conformance.client_suites $(SUITE)

.venv/tools/.ready: tools.txt
	@command -v $(PYTHON) >/dev/null || { echo "Trellis needs $(PYTHON) (set PYTHON=... to its path)"; exit 1; }
	@echo "Setting up tools"
	@$(PYTHON) -m venv .venv/tools
	@PIP_CERT=$(CERTS) $(call BIN,tools)/python -m pip install --quiet --disable-pip-version-check -r tools.txt
	@touch $@

.venv/airflow/.ready: requirements.txt plugins/pyproject.toml contracts/pyproject.toml
$(COMPOSER): tests/composer.txt plugins/pyproject.toml contracts/pyproject.toml
.venv/trainer/.ready: trainer/requirements.txt contracts/pyproject.toml
.venv/local_gcp/.ready: local_gcp/requirements.txt local_gcp/pyproject.toml

.venv/docs/.ready: docs/requirements.txt | .venv/tools/.ready
	@echo "Setting up the docs environment"
	@[ -x $(call BIN,docs)/python ] || $(call BIN,tools)/uv venv --quiet --python $(PYTHON) .venv/docs
	@$(call SYNC,docs,docs/requirements.txt)
	@touch $@

# Each environment is exactly its pins plus the test tools, and the part of this checkout that runs
# in it as a package (EDITABLE). The tests in composer need a tenth of it: that is not compiled before.
$(ENVIRONMENTS) $(COMPOSER): .venv/%/.ready: tests/requirements.txt | .venv/tools/.ready
	@echo "Setting up the $* environment"
	@[ -x $(call BIN,$*)/python ] || $(call BIN,tools)/uv venv --quiet --python $(PYTHON) .venv/$*
	@$(call SYNC,$*,$(filter %.txt,$^))
	@$(if $(EDITABLE_$*),$(call INSTALL,$*,$(EDITABLE_$*)))
	@$(if $(filter $@,$(ENVIRONMENTS)),$(call COMPILE,$*))
	@touch $@

# As docker/Dockerfile.image does it: what the trainer has keeps its version. pip, and not uv, since a
# group's own pip.conf says where its packages are.
.venv/images/%/.ready: dags/experiments/images/%.txt trainer/requirements.txt contracts/pyproject.toml | .venv/tools/.ready
	@echo "Setting up the environment of the image $*"
	@[ -x .venv/images/$*/bin/python ] || $(call BIN,tools)/uv venv --quiet --python $(PYTHON) .venv/images/$*
	@$(call SYNC,images/$*,trainer/requirements.txt)
	@$(call INSTALL,images/$*,$(EDITABLE_trainer))
	@PIP_CERT=$(CERTS) $(call BIN,tools)/python -m pip --python .venv/images/$*/bin/python install --quiet \
	  --disable-pip-version-check --constraint trainer/requirements.txt --requirement $<
	@$(call COMPILE,images/$*)
	@touch $@

$(PEERS): benchmarks/peers.txt .venv/trainer/.ready
	@echo "Setting up the benchmarks' peers"
	@rm -rf $(@D)
	@VIRTUAL_ENV=.venv/trainer $(UV) pip install --quiet --no-deps --target $(@D) -r $<
	@touch $@

$(SUITES): tests/conformance/client_suites.txt .venv/airflow/.ready
	@echo "Setting up the packages of the clients' tests"
	@rm -rf $(@D)
	@VIRTUAL_ENV=.venv/airflow $(UV) pip install --quiet --no-deps --target $(@D) -r $<
	@touch $@

# Not compiled to bytecode: its bindings of the google provider, 230 MB, are read and never imported.
$(INFRA): tests/infra/requirements.txt | .venv/tools/.ready
	@echo "Setting up the infra environment"
	@[ -x $(call BIN,infra)/python ] || $(call BIN,tools)/uv venv --quiet --python $(PYTHON) .venv/infra
	@VIRTUAL_ENV=.venv/infra $(UV) pip sync --quiet tests/infra/requirements.txt
	@touch $@
