#!/usr/bin/env bash
# Installs a client from a release of Sidero's, and verifies its checksum: install-tool.sh talos v1.12.6 talosctl
# Both projects publish sha256sum.txt next to their clients (siderolabs/talos, Makefile; siderolabs/omni,
# .github/workflows/ci.yaml).
set -euo pipefail
project=$1 version=$2 tool=$3
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || { echo "$tool: '$version' is not a release" >&2; exit 1; }
folder=$(mktemp -d)
cd "$folder"
file=$tool-linux-amd64
for asset in "$file" sha256sum.txt; do
  curl -fsSL --retry 3 -o "$asset" "https://github.com/siderolabs/$project/releases/download/$version/$asset"
done
# The list must have exactly one line for this file: --ignore-missing alone would accept a list without it.
grep -E "^[0-9a-f]{64} [ *]$file\$" sha256sum.txt > wanted || { echo "$tool: sha256sum.txt has no line for $file" >&2; exit 1; }
sha256sum --check --strict wanted
mkdir -p "$RUNNER_TEMP/bin"
install -m 0755 "$file" "$RUNNER_TEMP/bin/$tool"
echo "$RUNNER_TEMP/bin" >> "$GITHUB_PATH"
