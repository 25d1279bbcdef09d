# What zsh offers for a line, one word each: complete.zsh FOLDER LINE, with the completion's file (`_command`) in FOLDER.
# A zsh of its own completes on a terminal of its own (zsh/zpty); what its completion adds is printed between two lines that hold
# a NUL, and nothing is waited for but those.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "source $0:h/completing.zsh ${(q)1}"
while zpty -r shell line; do [[ $line == ready* ]] && break; done
zpty -w shell "$2"$'\t'
integer inside=0
while zpty -r shell line; do
  if [[ $line == *$'\0'* ]]; then
    (( inside++ )) && exit 0
    continue
  fi
  (( inside )) && print -r -- "${line%%$'\r'*}"
done
exit 1
