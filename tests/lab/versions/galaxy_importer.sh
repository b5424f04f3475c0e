#!/bin/sh
# Import a collection tarball as Galaxy does. The importer exits with 0 if there are warnings; here they are errors.
set -u
log=build/galaxy-importer.log
export GALAXY_IMPORTER_CONFIG=tests/lab/versions/galaxy-importer.cfg
python -m galaxy_importer.main "$1" >"$log" 2>&1
code=$?
# A test checks that all ignored sanity checks are registered in tests/exceptions.yml.
if grep -E '^(WARNING|ERROR|CRITICAL)' "$log" | grep -v 'Ignore files skip ansible-test sanity tests' || [ "$code" -ne 0 ]; then
    echo "galaxy-importer: refused, see $log" >&2
    exit 1
fi
echo "galaxy-importer: $1 can be imported."
