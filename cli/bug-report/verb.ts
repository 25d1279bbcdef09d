import * as fs from "node:fs";
import * as path from "node:path";
import { inLine } from "../../components/recipe/rules/printable";
import { redact } from "../../components/recipe/rules/redact";
import { readWithAccess, reachOptions } from "../reach/options";
import { planToCompare, stackHelp } from "../stack";
import { type Verb, valueOf } from "../verb";
import { collect } from "./collect";

/** `talos-gpu bug-report`: writes a folder with everything that NVIDIA and Sidero request for a bug report. */
export const bugReport: Verb = {
  summary:
    "collects the data that NVIDIA and Sidero request for a bug report, without secrets; changes nothing",
  options: {
    ...reachOptions("the report lacks the machines"),
    stack: {
      value: "NAME",
      help: `include the plan of this stack, ${stackHelp}, and compare the cluster with it`,
    },
    out: {
      value: "FOLDER",
      help: "folder to write, which must not exist (default: gpu-report-TIME)",
    },
  },
  more: `The report has the kernel log, the services with their logs, the PCI devices, the kernel modules and the extensions of each GPU
machine. It also has the cluster's nodes and events, and the GPU provider's objects and logs. The command runs nothing in a pod: nvidia-smi.txt lists commands for you to run. The command uses the talosctl at the path in TALOS_GPU_TALOSCTL, or else the talosctl in PATH.
`,
  run: async (args, output) => {
    const plan = planToCompare(args, output);
    const time = new Date().toISOString().slice(0, 19).replaceAll(":", "-");
    const folder = valueOf(args, "out") ?? `gpu-report-${time}`;
    if (fs.existsSync(folder))
      throw new Error(
        `--out: ${folder} already exists, and its files would be mistaken for files of this report; name another folder`,
      );
    const { files, missing } = await readWithAccess(args, (access, timeLimit) =>
      collect(access, plan, timeLimit),
    );
    const missingLines = missing.map((line) => redact(line));
    files.set("missing.txt", missingLines.map((line) => `${line}\n`).join(""));
    for (const [file, text] of files) {
      fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true, mode: 0o700 });
      fs.writeFileSync(path.join(folder, file), text, { mode: 0o600 });
    }
    for (const line of missingLines) output.remark(inLine(`could not be collected: ${line}`));
    output.result(
      args.switches.has("json")
        ? `${JSON.stringify({ folder, files: [...files.keys()], missing: missingLines })}\n`
        : `wrote ${files.size} files to ${folder}: read them, then pack the folder by \`tar czf ${folder}.tar.gz ${folder}\`\n`,
    );
    return missing.length > 0 ? 2 : 0;
  },
};
