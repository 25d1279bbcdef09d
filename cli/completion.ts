import { everywhere } from "./options";
import type { Option, Verb } from "./verb";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** What may stand in a verb's place. */
const inPlaceOfVerb = { help: "lists the verbs", version: "prints the version of this package" };

/** The verb that prints what a shell must know to complete the command, made of the very table that is run. */
export function completion(verbs: () => Record<string, Verb>): Verb {
  return {
    summary: "prints what bash, zsh or fish needs to complete this command",
    argument: { name: "SHELL", completes: "nothing", required: true },
    options: {},
    more: `bash: talos-gpu completion bash > ~/.local/share/bash-completion/completions/talos-gpu
zsh:  talos-gpu completion zsh > a folder of $fpath, as _talos-gpu
fish: talos-gpu completion fish > ~/.config/fish/completions/talos-gpu.fish
`,
    run: async ({ positionals: [shell] }, output) => {
      if (!shells.includes(shell as Shell))
        throw new Error(
          `SHELL: ${shell} is not known, so nothing can be printed for it; take one of ${shells.join(", ")}`,
        );
      output.result(scripts[shell as Shell](verbs()));
      return 0;
    },
  };
}

const optionsOf = (verb: Verb): [string, Option][] => Object.entries({ ...verb.options, ...everywhere });

const scripts: Record<Shell, (verbs: Record<string, Verb>) => string> = {
  bash: (verbs) => `# bash completion of talos-gpu
_talos_gpu() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${Object.keys(verbs).join(" ")} --help --version' -- "$word"))
    return
  fi
  case "$before" in
    ${valued(verbs, "file").join("|")}) COMPREPLY=($(compgen -f -- "$word")); return ;;
    ${valued(verbs, "nothing").join("|") || "''"}) return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${Object.entries(verbs)
  .map(([name, verb]) => `    ${name}) ${bashVerb(name, verb)} ;;`)
  .join("\n")}
  esac
}
complete -o filenames -F _talos_gpu talos-gpu
`,
  zsh: (verbs) => `#compdef talos-gpu
_talos_gpu() {
  if (( CURRENT == 2 )); then
    local -a verbs=(${Object.entries(verbs)
      .map(([name, { summary }]) => quoted(`${name}:${summary}`))
      .join(" ")})
    local -a options=(${Object.entries(inPlaceOfVerb)
      .map(([name, help]) => quoted(`--${name}:${help}`))
      .join(" ")})
    _describe 'verb' verbs
    _describe -o 'option' options
    return
  fi
  case $words[2] in
${Object.entries(verbs)
  .map(([name, verb]) => `    ${name}) shift words; (( CURRENT-- )); _arguments ${zshVerb(name, verb)} ;;`)
  .join("\n")}
  esac
}
_talos_gpu "$@"
`,
  fish: (verbs) =>
    [
      "# fish completion of talos-gpu",
      "function __talos_gpu_verb --description 'whether the verb is this one; without one: whether none is there'",
      "    set -l words (commandline -opc)",
      '    test "$words[2]" = "$argv[1]"',
      "end",
      "complete -c talos-gpu -f",
      ...Object.entries(inPlaceOfVerb).map(
        ([name, help]) => `complete -c talos-gpu -n __talos_gpu_verb -l ${name} -d ${quoted(help)}`,
      ),
      ...Object.entries(verbs).flatMap(([name, verb]) => [
        `complete -c talos-gpu -n __talos_gpu_verb -a ${name} -d ${quoted(verb.summary)}`,
        ...fishVerb(name, verb),
      ]),
      "",
    ].join("\n"),
};

/** Options whose value a shell completes that way, of all verbs. */
function valued(verbs: Record<string, Verb>, completes: string): string[] {
  const found = Object.values(verbs).flatMap((verb) =>
    optionsOf(verb).filter(([, { value }]) => value?.completes === completes),
  );
  return [...new Set(found.map(([name]) => `--${name}`))];
}

function bashVerb(name: string, verb: Verb): string {
  const options = `-W '${optionsOf(verb)
    .map(([option]) => `--${option}`)
    .join(" ")}'`;
  const files = verb.argument?.completes === "file" ? "-f" : "";
  const argument = name === "completion" ? `-W '${shells.join(" ")}'` : files;
  const fill = (by: string): string => `COMPREPLY=($(compgen ${by} -- "$word"))`;
  return argument === "" ? fill(options) : `if [[ $word == -* ]]; then ${fill(options)}; else ${fill(argument)}; fi`;
}

function zshVerb(name: string, verb: Verb): string {
  const options = optionsOf(verb).map(([option, { help, value, multiple }]) => {
    const text = help.replace(/[[\]:]/g, " ");
    const takes = value === undefined ? "" : `:${value.name}:${value.completes === "file" ? "_files" : " "}`;
    return quoted(`${multiple ? "*" : ""}--${option}[${text}]${takes}`);
  });
  const argument =
    name === "completion" ? [quoted(`1:shell:(${shells.join(" ")})`)] : verb.argument ? [quoted("1:file:_files")] : [];
  return [...options, ...argument].join(" ");
}

function fishVerb(name: string, verb: Verb): string[] {
  const when = quoted(`__talos_gpu_verb ${name}`);
  const options = optionsOf(verb).map(([option, { help, value }]) => {
    const takes = value === undefined ? "" : value.completes === "file" ? " -r -F" : " -x";
    return `complete -c talos-gpu -n ${when} -l ${option}${takes} -d ${quoted(help)}`;
  });
  const argument =
    name === "completion"
      ? [`complete -c talos-gpu -n ${when} -a ${quoted(shells.join(" "))}`]
      : verb.argument?.completes === "file"
        ? [`complete -c talos-gpu -n ${when} -F`]
        : [];
  return [...options, ...argument];
}

/** A word for any of the three shells: none expands anything between single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "’")}'`;
