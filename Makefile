# Everything runs in .venv, which is made once from pinned requirements. Nothing is installed elsewhere.

# Debian's own build first: the tests take a fifth less time with it than with one that was compiled without profiling, as by pyenv.
PYTHON ?= $(firstword $(foreach p,/usr/bin/python3.11 python3.11 python3,$(shell $(p) -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))
COLLECTION := collections/ansible_collections/hccn/cluster
PLUGINS := $(COLLECTION)/plugins
CORES := $(shell nproc 2>/dev/null || echo 1)
TEST_PROCESSES := $(shell expr $(CORES) + 1) # one more than cores, since tests wait for clocks and ports
REST_PROCESSES := $(shell expr $(CORES) + 2) # these wait longer
PYTEST = python -m pytest -q -n $(TEST_PROCESSES) --no-loadscope-reorder
FEW := (not integration and not lab and not slow) or smoke
SPHINX := sphinx-build --quiet --fail-on-warning --keep-going
PARSERS := _device _perf _rank_table

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/collections
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Unbuffered, Python reads a module byte by byte from its standard input, which takes a third of the time of a task.
unexport PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE
export REUSE_ENCODING_MODULE := charset_normalizer
.PHONY: help venv demo check test test-rest test-all test-long test-k8s kube-bin test-eda test-odd-host test-protobuf coverage lint lint-python lint-ansible lint-galaxy sanity units molecule simulate soak fault-matrix bench bench-fabric bench-scale fabric-seeds roce docs build release changelog matrix matrix-oldest demo-cores clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

venv: .venv/.lint ## make .venv with all tools of the project

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Python >= 3.11 with venv is needed: apt install python3.11-venv, or make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.%: requirements-%.txt $(wildcard requirements*.txt) constraints.txt | .venv/bin/python
	.venv/bin/pip install --quiet --requirement $<
	@touch $@

demo: .venv/.demo ## run the main job on four simulated hosts on this machine, up to the report
	ansible-playbook -i inventories/demo/hosts playbooks/demo.yml

check: .venv/.lint ## run after each edit, within a minute: ruff, mypy, the unit tests
	ruff check --quiet
	mypy
	python -m pytest -q -n $(TEST_PROCESSES) $(COLLECTION)/tests/unit

test: .venv/.test ## unit tests, contracts, and one run of every playbook on simulated hosts: minutes, no root
	$(PYTEST) -m "$(FEW)" --durations 10 --durations-min 5

test-rest: TEST_PROCESSES = $(REST_PROCESSES)
test-rest: .venv/.test .cache/awx/.fetched ## all tests that make test leaves out, except the long ones: ten minutes on two cores; some run as root only
	$(PYTEST) tests -m "not long and not ($(FEW))" --durations 30 --durations-min 5

test-all: test test-rest ## test and test-rest

.cache/awx/.fetched: requirements-k8s.txt tests/integration/awx/collection.py .venv/.test
	python -m tests.integration.awx.collection && touch $@ || echo "awx.awx is not available here; the tests that need it are skipped." >&2

test-long: .venv/.test ## tests that take too long for every change: those marked long, the commands of the documentation, killed runners on real small hosts (root)
	$(PYTEST) -m long
	python -m pytest -n $(TEST_PROCESSES) --no-loadscope-reorder tests/contract/docs/long_*.py tests/integration/clusterd/long_streams.py tests/lab/fabric_faults/long_killed.py tests/lab/fabric_faults/long_uplink.py

test-k8s: .venv/bin/python ## test the Kubernetes roles with a stand-in of the API server, and with a real one if present (kube-bin); uses a separate venv (750 MB)
	test -x .cache/k8s/bin/python || .venv/bin/python -m venv .cache/k8s
	.cache/k8s/bin/pip install --quiet --requirement requirements-k8s.txt
	PATH=$(CURDIR)/.cache/k8s/bin:$(PATH) .cache/k8s/bin/python -m pytest -n 0 tests/integration/kubernetes_jobs tests/integration/eda/test_quarantine_providers.py tests/lab/kubernetes

kube-bin: ## build a real kube-apiserver and etcd for test-k8s from Debian sources in HCCN_KUBE_BIN or .cache/kube (six minutes on two cores, 3 GB meanwhile)
	tests/lab/kubernetes/build $(or $(HCCN_KUBE_BIN),.cache/kube)

test-eda: .venv/.test ## test the rulebook in ansible-rulebook, in a separate venv (130 MB; needs Java 17 or newer)
	test -x .cache/eda/bin/python || .venv/bin/python -m venv .cache/eda
	.cache/eda/bin/pip install --quiet --requirement requirements-eda.txt
	python -m pytest -n 0 tests/integration/eda

test-odd-host: .venv/.test ## whole playbooks with one host that returns malformed answers, on the oldest safe ansible-core (HCCN_CORES=2.21.5: the newest); make test-rest runs a few on the installed one
	HCCN_CORES=$${HCCN_CORES:-2.16.14} HCCN_ODD_PLAYS=$${HCCN_ODD_PLAYS:-4} python -m pytest -n $(TEST_PROCESSES) tests/contract/security/test_odd_host.py

test-protobuf: .venv/.test ## test the messages of ClusterD with the oldest and the newest supported protobuf
	for version in $$(python -c 'import yaml; print(*yaml.safe_load(open("tests/lab/versions/versions.yml"))["protobuf"])'); do \
	    test -d .cache/protobuf/$$version || .venv/bin/pip install --quiet --no-deps --target .cache/protobuf/$$version protobuf==$$version || exit 1; \
	    PYTHONPATH=$(CURDIR)/.cache/protobuf/$$version python -m pytest -n 0 -q tests/contract/reference/test_clusterd_messages.py || exit 1; \
	done

coverage: .venv/.test ## check that the unit tests alone cover 95 % of the branches of the parsers
	@mkdir -p build
	python -m pytest -q --cov --cov-report= $(addprefix $(COLLECTION)/tests/unit/plugins/module_utils/,$(PARSERS))
	coverage report --fail-under=95 --include="$$(printf '*/module_utils/%s/*,' $(PARSERS))"

lint: lint-python lint-ansible lint-galaxy ## style, types, layers, Python versions, documentation, licences, the rules of Galaxy

lint-python: .venv/.lint
	ruff check --output-format concise
	mypy
	PYTHONPATH=collections lint-imports --no-logo --cache-dir .cache/import-linter
	vermin --quiet --no-tips --violations -t=3.7- $(PLUGINS)/modules $(PLUGINS)/module_utils
	vermin --quiet --no-tips --violations -t=3.10- $(addprefix $(PLUGINS)/,action callback doc_fragments filter lookup plugin_utils) tests

lint-ansible: .venv/.lint
	yamllint --strict .
	ansible-lint --offline --profile production
	cd $(COLLECTION) && ansible-lint --offline --profile production
	cd $(COLLECTION) && antsibull-changelog lint
	cd $(COLLECTION) && antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=all .

lint-galaxy: build
	reuse lint --lines
	ansible-builder create --file execution-environment.yml --context build/execution-environment
	ansible-builder create --file execution-environment-kubernetes.yml --context build/execution-environment-kubernetes
	tests/lab/versions/galaxy_importer.sh build/hccn-cluster-*.tar.gz

sanity: .venv/.lint ## run ansible-test sanity, without a container
	python tests/lab/versions/ansible_test.py sanity --skip-test pylint
	python tests/lab/versions/ansible_test.py sanity --test pylint plugins/

units: .venv/.lint ## run the unit tests of make test with ansible-test, without a container
	python tests/lab/versions/ansible_test.py units

molecule: .venv/.lint ## run molecule test for all scenarios of extensions/molecule: the demo, and playbooks on real small hosts (tests/lab/testbed; root only)
	extensions/molecule/run

simulate: .venv/.test ## test plans and diagnosis of the fabric check on simulated fabrics with known faults, up to 4,096 hosts
	PYTHONPATH=collections:. python -m tests.lab.fabric_simulation

soak: .venv/.test ## a million mutated inputs for the parsers, 500 nightly runs, 500 sequences of operations, malformed answers on the oldest and the newest ansible-core, every playbook under every fault, ten thousand hosts (root; four hours on two cores)
	PYTHONPATH=collections:. python -m tests.lab.fuzz.run $${HCCN_INPUTS:-1000000}
	python -m pytest -n 0 tests/lab/soak/long_soak.py
	HCCN_SEQUENCES=$${HCCN_SEQUENCES:-500} python -m pytest -n 0 -q tests/lab/campaign/test_campaign.py
	HCCN_CORES=2.16.14,2.21.5 $(MAKE) test-odd-host
	$(MAKE) fault-matrix
	HCCN_SCALE_HOSTS=$${HCCN_SCALE_HOSTS:-256,10000} HCCN_SCALE_FORKS=16 $(MAKE) bench-scale

fault-matrix: .venv/.test ## run every playbook under every fault on real small hosts (root; HCCN_FAULTS=tls,bring_up/garbage)
	python -m pytest -n 0 -v tests/lab/fault_matrix/long_matrix.py

bench: .venv/.test ## run the benchmarks
	python -m pytest tests/lab/benchmarks/bench_*.py

bench-fabric: .venv/.test ## measure the cost of a fabric check on 64 small hosts, as ratios (root; twenty minutes on two cores)
	python -m pytest -n 0 tests/lab/benchmarks/fabric.py

bench-scale: .venv/.test ## measure the cost of a thousand hosts on the controller (root for the small hosts; HCCN_SCALE_LAB=0 leaves them out)
	python -m pytest -n 0 tests/lab/benchmarks/scale.py

fabric-seeds: .venv/.test ## inject random faults on 16 small hosts with 8 NPUs each: all are found and no other component is blamed (root; HCCN_SEEDS=0-19)
	HCCN_SEEDS=$${HCCN_SEEDS:-0-19} python -m pytest -n 0 tests/lab/fabric_faults/long_seeds.py

roce: .venv/.test ## test the real perftest over software RoCE between virtual machines (root; installs qemu from Debian if it is missing; HCCN_ROCE_RUNS=10)
	python -m pytest -n 0 tests/lab/roce/test_*.py tests/lab/roce/long_*.py

screenshots: .venv/.test ## make the screenshots of the report for README and docs, with Chromium
	PYTHONPATH=collections:. python -m tests.integration.report.screenshots

docs: .venv/.lint ## render the documentation, with the reference of all plugins, in build/docs/html, in Chinese in build/docs/html/zh, and check links and layout
	rm -rf build/docs && mkdir -p build/docs && cp -r docs build/docs/source && mkdir -m 0755 build/docs/source/reference
	PYTHONPATH=collections:. python -m tests.lab.fault_matrix.page > build/docs/source/explanation/faults.rst
	antsibull-docs collection --use-current --squash-hierarchy --fail-on-error --dest-dir build/docs/source/reference hccn.cluster
	$(SPHINX) -b html -d build/docs/doctrees/en build/docs/source build/docs/html
	$(SPHINX) -b html -d build/docs/doctrees/zh -D language=zh_CN build/docs/source build/docs/html/zh
	python -m pytest -q -n 0 tests/contract/docs/built_site.py

translations: .venv/.lint ## update the Chinese catalogs in docs/locale after a change of docs, and print how many messages of each page are translated
	PYTHONPATH=collections:. python -m tests.contract.docs.translations

build: .venv/.lint ## build the tarball of the collection in build/
	rm -f build/hccn-cluster-*.tar.gz
	ansible-galaxy collection build $(COLLECTION) --output-path build --force

release: lint-galaxy ## check the version and the changelog, and put the tarball, its SBOM and checksums into build/release for a person to upload
	cd $(COLLECTION) && antsibull-changelog lint
	python tests/lab/versions/release.py

changelog: .venv/.lint ## move changelogs/fragments into CHANGELOG.md, under the version of galaxy.yml
	cd $(COLLECTION) && antsibull-changelog release --update-existing --reload-plugins

matrix: .venv/.test ## test the supported versions for which this machine has interpreters
	python -m tests.lab.versions.matrix

matrix-oldest: .venv/.test ## test the oldest ansible-core with the oldest Python versions of hosts; list all versions and those that are missing here
	python -m tests.lab.versions.matrix --list
	python -m tests.lab.versions.matrix --oldest

demo-cores: build ## run the demo on the oldest ansible-core, with the collection installed from its tarball
	for release in $$(python -m tests.lab.versions.matrix --demo); do tests/lab/versions/demo_on_core.sh $$release || exit 1; done

clean: ## remove everything that make has made
	rm -rf .venv .cache .ansible build $(COLLECTION)/tests/output
