#!/bin/bash
# Commits the difference that renew-facts.sh left in a folder to the branch `facts`, and opens or updates its pull
# request. Ignores changes outside the tables.
set -euo pipefail
from=$1
git switch --quiet --create facts
git apply --include='components/recipe/facts/data/*' "$from/facts.patch"
git -c user.name='github-actions[bot]' -c user.email='41898282+github-actions[bot]@users.noreply.github.com' \
  commit --quiet --all --message 'Tables of facts, renewed'
gh auth setup-git # git asks gh for the token, which stays in the environment of this step
git push --quiet --force origin facts
{
  echo 'What `npm run facts` renewed, and what a person has to read. Look at the difference before you merge it; to run the checks, close'
  echo 'this pull request and open it again.'
  echo
  sed 's/^/    /' "$from/lines.txt" # as code: the text comes from registries, so it must not be read as Markdown
} > "$from/body.md"
number=$(gh pr list --head facts --state open --json number --jq '.[0].number // empty')
if [ -n "$number" ]; then
  gh pr edit "$number" --body-file "$from/body.md"
else
  gh pr create --base main --head facts --title 'Tables of facts, renewed' --body-file "$from/body.md"
fi
