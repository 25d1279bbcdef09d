#!/usr/bin/env bash
# Annotates the findings in the files of PATHS, one path a line. Also writes the findings to the file SARIF, if set.
# ARGUMENTS: further arguments of `talos-gpu check`, one a line. Exits with the command's status: 1 if there are
# findings.
set -euo pipefail
paths=() arguments=()
while IFS= read -r line; do [ -z "$line" ] || paths+=("$line"); done <<<"$PATHS"
while IFS= read -r line; do [ -z "$line" ] || arguments+=("$line"); done <<<"$ARGUMENTS"
[ "${#paths[@]}" -gt 0 ] || { echo "paths: is empty, so there is nothing to read; name files or folders, one a line" >&2; exit 2; }

check() {
  node "$GITHUB_ACTION_PATH/../../components/bin/cli.js" check "$@" ${arguments[@]+"${arguments[@]}"} -- "${paths[@]}"
}

# The annotations below contain this run's findings, so this output is discarded.
if [ -n "$SARIF" ]; then
  check --format sarif >"$SARIF" 2>/dev/null || true
  [ -s "$SARIF" ] || rm -f "$SARIF"
fi
check --format github
