#!/usr/bin/env bash
# Fetches the commits of a pull request as refs/pull/NUMBER/head, and checks nothing out: fetch-pull-request.sh NUMBER
# REPOSITORY is the repository's URL. GH_TOKEN reads it, and reaches git by its environment alone.
set -euo pipefail
number=$1
[[ $number =~ ^[0-9]+$ ]] || { echo "'$number' is no number of a pull request" >&2; exit 1; }
git -c credential.helper='!f() { echo username=x-access-token; echo "password=$GH_TOKEN"; }; f' \
  fetch --no-tags "$REPOSITORY" "+refs/pull/$number/head:refs/pull/$number/head"
