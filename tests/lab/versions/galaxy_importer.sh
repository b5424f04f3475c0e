#!/bin/sh
# Imports a collection tarball as Galaxy does. The importer exits 0 with warnings; here they fail too.
set -u
log=build/galaxy-importer.log
export GALAXY_IMPORTER_CONFIG=tests/lab/versions/galaxy-importer.cfg
python -m galaxy_importer.main "$1" >"$log" 2>&1
code=$?
# What ansible-test is told to ignore is registered in tests/exceptions.yml, which a test holds.
if grep -E '^(WARNING|ERROR|CRITICAL)' "$log" | grep -v 'Ignore files skip ansible-test sanity tests' || [ "$code" -ne 0 ]; then
    echo "galaxy-importer: refused, see $log" >&2
    exit 1
fi
echo "galaxy-importer: $1 is fit to import."
