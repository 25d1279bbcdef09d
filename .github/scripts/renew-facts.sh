#!/bin/bash
# Renews the tables of facts, and writes two files to a folder: the report (lines.txt) and the difference (facts.patch).
# Tells the runner whether there is a difference.
set -euo pipefail
out=$1
tables=components/recipe/facts/data
mkdir -p "$out"
npm run --silent facts | tee "$out/lines.txt"
npx --no-install prettier --write --log-level warn "$tables"
git diff --no-color -- "$tables" > "$out/facts.patch"
if [ -s "$out/facts.patch" ]; then changed=true; else changed=false; fi
echo "changed=$changed" >> "$GITHUB_OUTPUT"
