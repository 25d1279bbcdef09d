#!/usr/bin/env bash
# Annotates the findings in the files that PATHS names, one a line. Writes the same to the file SARIF, if one is named.
# ARGUMENTS: further arguments of `talos-gpu check`, one a line. Ends as the command does: 1 where something is wrong.
set -euo pipefail
paths=() arguments=()
while IFS= read -r line; do [ -z "$line" ] || paths+=("$line"); done <<<"$PATHS"
while IFS= read -r line; do [ -z "$line" ] || arguments+=("$line"); done <<<"$ARGUMENTS"
[ "${#paths[@]}" -gt 0 ] || { echo "paths: is empty, so there is nothing to read; name files or folders, one a line" >&2; exit 2; }

check() {
  node "$GITHUB_ACTION_PATH/../../components/bin/cli.js" check "$@" ${arguments[@]+"${arguments[@]}"} -- "${paths[@]}"
}

# The annotations below say what this run says, so its remarks are left out.
if [ -n "$SARIF" ]; then
  check --format sarif >"$SARIF" 2>/dev/null || true
  [ -s "$SARIF" ] || rm -f "$SARIF"
fi
check --format github
