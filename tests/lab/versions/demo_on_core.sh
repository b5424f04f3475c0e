#!/bin/sh
# demo_on_core.sh RELEASE [PYTHON]: run the demo with this ansible-core and the collection that is installed from its tarball (make build). Then the whole job
# must report a link that is down, and bring_up must change nothing more.
set -eu

release=$1
root=$(cd "$(dirname "$0")/../../.." && pwd)
place=$root/.cache/demo/$release
rm -rf "$place"
mkdir -p "$place"

cd "$root"
venv=$(.venv/bin/python -m tests.lab.versions.cores "$@")

unset ANSIBLE_COLLECTIONS_PATH
export PATH="$venv/bin:$PATH" HCCN_DEMO_FOLDER="$place/nodes"
export PYTHONPATH="$root/tests/lib/bytecode" ANSIBLE_CALLBACK_PLUGINS="$root/tests/lib/callbacks" # keep what is compiled, which saves time only
ansible-playbook --version | sed -n 1p

cd "$place"
cat >ansible.cfg <<CFG
[defaults]
collections_path = $place/collections
roles_path = $root/roles
callbacks_enabled = hccn.cluster.results
[hccn_results]
path = $place/history
CFG
export ANSIBLE_CONFIG="$place/ansible.cfg"
ansible-galaxy collection install --offline "$root"/build/hccn-cluster-*.tar.gz
play() { # play LOG PLAYBOOK: run it on hosts with two NPUs, print the output and return the exit status
    status=0
    ansible-playbook -i "$root/inventories/demo/hosts" -e '{"simulated_cluster_devices": 2}' "$2" >"$1" 2>&1 || status=$?
    cat "$1"
    return $status
}

play demo.log "$root/playbooks/demo.yml"
grep -qx 'Result: good. 4 hosts: 4 good.' demo.log
test -s "$(sed -n 's/^Report: //p' demo.log)"

PYTHONPATH=$root/tests/simulator "$root/.venv/bin/python" -m hccn_sim set "$HCCN_DEMO_FOLDER/npu3" 1.link=0
play broken.log hccn.cluster.site && exit 1
[ "$status" -eq 2 ]
grep -qx 'Result: failed. 4 hosts: 1 failed, 3 good.' broken.log
grep -qx 'failed npu3 NPU 1: the link is down -> On npu3: hccn_tool -i 1 -optical -g' broken.log
test -s "$(sed -n 's/^Report: //p' broken.log)"

# Without the callback, which an installation does not enable, a job must have the same result.
export ANSIBLE_CALLBACKS_ENABLED=hccn.cluster.controller_memory
play bare.log hccn.cluster.bring_up && exit 1
[ "$status" -eq 2 ]
grep -q 'failed npu3 NPU 1: the link is down' bare.log
if grep -E '^npu[0-9]+ .*changed=[1-9]' bare.log; then
    echo "bring_up changed hosts that it had brought up before." >&2
    exit 1
fi
if grep -l 'DEPRECATION' demo.log broken.log bare.log; then
    grep -h -A3 'DEPRECATION' demo.log broken.log bare.log >&2
    exit 1
fi
