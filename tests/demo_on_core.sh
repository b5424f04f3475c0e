#!/bin/sh
# SPDX-FileCopyrightText: The hccn.cluster authors
# SPDX-License-Identifier: GPL-3.0-or-later
# demo_on_core.sh RELEASE: the demo with that ansible-core, from the checkout; then the collection as a user has it, installed from its
# tarball (make build) into an empty folder, where bring_up must find nothing left to change.
set -eu

release=$1
root=$(cd "$(dirname "$0")/.." && pwd)
place=$root/.cache/demo/$release
rm -rf "$place"
mkdir -p "$place"

cd "$root"
venv=$(.venv/bin/python -m tests.cores "$release")

unset ANSIBLE_COLLECTIONS_PATH
export PATH="$venv/bin:$PATH" HCCN_DEMO_FOLDER="$place/nodes"
ansible-playbook --version | sed -n 1p

ANSIBLE_CONFIG=$root/ansible.cfg ansible-playbook -i inventories/demo/hosts playbooks/demo.yml

cd "$place"
cat >ansible.cfg <<CFG
[defaults]
collections_path = $place/collections
callbacks_enabled = hccn.cluster.results
[hccn_results]
path = $place/history
CFG
export ANSIBLE_CONFIG="$place/ansible.cfg"
ansible-galaxy collection install --offline "$root"/build/hccn-cluster-*.tar.gz
ansible-playbook -i "$root/inventories/demo/hosts" hccn.cluster.bring_up >bring_up.log || { cat bring_up.log; exit 1; }
cat bring_up.log
if grep -E '^npu[0-9]+ .*changed=[1-9]' bring_up.log; then
    echo "bring_up changed hosts that it had brought up before." >&2
    exit 1
fi
