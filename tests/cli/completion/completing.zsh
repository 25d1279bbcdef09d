# Given to the zsh that complete.zsh starts: prints what completion adds in place of showing it.
PROMPT=
fpath=($1 $fpath)
autoload -Uz compinit
compinit -D -u
bindkey '^I' complete-word
mark() { print -r -- $'\0' }
compprefuncs=(mark)
comppostfuncs=(mark exit)
compadd() {
  # Those that only set or look something up add nothing.
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  local -a added
  builtin compadd -A added "$@"
  (( $#added )) && print -rl -- $added
  builtin compadd "$@"
}
print ready
