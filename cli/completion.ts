import { everywhere } from "./options";
import type { Verb } from "./verb";

/** The word that the scripts ask by. */
const asks = "offers";

/** What tells a shell to offer names of files. */
const files = ":";

/** The verb that prints what a shell needs to complete the command: a script that asks the command itself what may come next. */
export function completion(verbs: () => Record<string, Verb>): Verb {
  return {
    summary: "prints what bash, zsh or fish needs to complete this command",
    argument: { name: "SHELL", completes: "nothing", required: true, several: true },
    options: {},
    more: `bash: talos-gpu completion bash > ~/.local/share/bash-completion/completions/talos-gpu
zsh:  talos-gpu completion zsh > a folder of $fpath, as _talos-gpu
fish: talos-gpu completion fish > ~/.config/fish/completions/talos-gpu.fish
`,
    run: async ({ positionals: [shell = "", ...words] }, output) => {
      if (shell === asks)
        output.result(
          offersOf(verbs(), words)
            .map((line) => `${line}\n`)
            .join(""),
        );
      else if (Object.hasOwn(scripts, shell)) output.result(scripts[shell]!);
      else
        throw new Error(
          `SHELL: ${shell} is not known, so nothing can be printed for it; take one of ${Object.keys(scripts).join(", ")}`,
        );
      return 0;
    },
  };
}

/**
 * Lines for a shell: each word that may stand where the last of the words is, with what it does behind a tab.
 *
 * @param words behind the command's name, up to the one that is typed.
 */
export function offersOf(verbs: Record<string, Verb>, words: readonly string[]): string[] {
  const [name = "", typed = name, before = ""] = [words[0], words.at(-1), words.at(-2)];
  const fitting = (all: [string, string][]): string[] =>
    all.filter(([word]) => word.startsWith(typed)).map(([word, help]) => `${word}\t${help}`);
  if (words.length < 2)
    return fitting([
      ...Object.entries(verbs).map(([verb, { summary }]): [string, string] => [verb, summary]),
      ["--help", "lists the verbs"],
      ["--version", "prints the version of this package"],
    ]);
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) return [];
  const options = { ...verb.options, ...everywhere };
  const value = options[before.replace(/^--/, "")]?.value;
  if (value !== undefined && before.startsWith("--")) return value.completes === "file" ? [files] : [];
  if (typed.startsWith("-") || verb.argument === undefined)
    return fitting(Object.entries(options).map(([option, { help }]) => [`--${option}`, help]));
  if (verb.argument.completes === "file") return [files];
  return fitting(Object.keys(scripts).map((shell) => [shell, ""]));
}

const ask = (words: string): string => `talos-gpu completion ${asks} -- ${words} 2>/dev/null`;

const scripts: Record<string, string> = {
  bash: `# bash completion of talos-gpu
_talos_gpu() {
  local offer file
  COMPREPLY=()
  while IFS=$'\\t' read -r offer _; do
    if [ "$offer" != ${files} ]; then COMPREPLY+=("$offer"); continue; fi
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
  done < <(${ask('"${COMP_WORDS[@]:1:COMP_CWORD}"')})
}
complete -o filenames -F _talos_gpu talos-gpu
`,
  zsh: `#compdef talos-gpu
_talos_gpu() {
  local offer help names
  local -a offers
  while IFS=$'\\t' read -r offer help; do
    if [[ $offer == ${files} ]]; then names=1; else offers+=("$offer:$help"); fi
  done < <(${ask('"${(@)words[2,CURRENT]}"')})
  (( $#offers )) && _describe talos-gpu offers
  [[ -n $names ]] && _files
}
_talos_gpu "$@"
`,
  fish: `# fish completion of talos-gpu
function __talos_gpu_offers
    set -l words (commandline -opc) (commandline -ct)
    for offer in (${ask("$words[2..]")})
        if test "$offer" = ${files}
            __fish_complete_path (commandline -ct)
        else
            echo $offer
        end
    end
end
complete -c talos-gpu -f -a '(__talos_gpu_offers)'
`,
};
