#!/usr/bin/env bash
# Fetches the commits of a pull request as refs/pull/NUMBER/head, without a checkout: fetch-pull-request.sh NUMBER
# REPOSITORY is the repository's URL. GH_TOKEN can read it, and is passed to git only in the environment.
set -euo pipefail
number=$1
[[ $number =~ ^[0-9]+$ ]] || { echo "'$number' is not the number of a pull request" >&2; exit 1; }
git -c credential.helper='!f() { echo username=x-access-token; echo "password=$GH_TOKEN"; }; f' \
  fetch --no-tags "$REPOSITORY" "+refs/pull/$number/head:refs/pull/$number/head"
