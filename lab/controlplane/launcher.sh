#!/bin/sh
# controlplane [child] COMPONENT [FLAGS]: the programs of a control plane as their projects publish them, called as the lab's one program of
# all of them is (program/main.go).
folder=$(dirname "$0")
if [ "$1" != child ]; then
  component=$1
  shift
  exec "$folder/$component" "$@"
fi
component=$2
shift 2
# A child ends with its parent: once standard input closes, which happens in whichever way the parent goes, its group is killed. The lab
# gives each component a group of its own. A shell's `read` needs no further process, which the lab would take for something left behind.
exec 3<&0
{
  while read -r _; do :; done
  kill -KILL 0
} <&3 &
exec "$folder/$component" "$@" 3<&- </dev/null
