#!/usr/bin/env node
// A replacement for talosctl. It answers for one machine in the form of talosctl v1.13.0, and writes down its
// arguments.
import * as fs from "node:fs";
import * as path from "node:path";

const folder = path.dirname(fs.realpathSync(process.argv[1]!));
const args = process.argv.slice(2);
const mode = fs.existsSync(`${folder}/mode`) ? fs.readFileSync(`${folder}/mode`, "utf8") : "";
const config = process.env["TALOSCONFIG"]!;
const fileFlag = args.indexOf("--file");
const configurationFile = fileFlag < 0 ? undefined : args[fileFlag + 1]!;
const modeOf = (file: string): string => (fs.statSync(file).mode & 0o777).toString(8);
fs.appendFileSync(
  `${folder}/calls`,
  `${JSON.stringify({
    pid: process.pid,
    args,
    talosconfig: fs.readFileSync(config, "utf8"),
    talosconfigFile: config,
    talosconfigMode: modeOf(config),
    secretsInEnvironment: Object.keys(process.env).filter(
      (name) => name.startsWith("TALOS_GPU_") && name.endsWith("CONFIG"),
    ),
    ...(configurationFile === undefined
      ? {}
      : {
          appliedConfiguration: fs.readFileSync(configurationFile, "utf8"),
          appliedConfigurationMode: modeOf(configurationFile),
        }),
  })}\n`,
);

const resource = (id: string | number, spec: unknown): void =>
  console.log(JSON.stringify({ metadata: { id }, node: "10.0.0.1", spec }, null, 4));
const command = args.join(" ");
if (command.startsWith("version --client")) console.log("Client:\nTalos v1.13.0");
else if (mode === "hang") setInterval(() => {}, 1000);
else if (mode === "leak") {
  console.error(
    `rpc error: code = PermissionDenied desc = bad key: ${fs.readFileSync(config, "utf8")}`,
  );
  process.exit(1);
} else if (command.startsWith("version --json"))
  console.log(JSON.stringify({ version: { tag: "v1.12.6" } }));
else if (command.startsWith("get machinestatus"))
  resource("machine", { stage: "running", status: { ready: true, unmetConditions: [] } });
else if (command.startsWith("get extensions")) {
  resource(0, {
    metadata: { name: "nvidia-container-toolkit-production", version: "570.211.01-v1.18.2" },
  });
  resource(1, { metadata: { name: "schematic", version: "a".repeat(64) } });
} else if (command.startsWith("get machineconfig")) {
  resource("v1alpha1", fs.readFileSync(`${folder}/configuration`, "utf8"));
  resource("persistent", fs.readFileSync(`${folder}/configuration`, "utf8"));
} else if (command.startsWith("read /proc/modules")) console.log("nvidia 1 0 - Live 0x0 (O)");
else if (command.startsWith("read /proc/driver"))
  console.log("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.211.01  Release Build");
else if (command.startsWith("read")) console.log("00000000-0000-0000-0000-000000000001");
else if (command.startsWith("services"))
  console.log(
    "NODE       SERVICE                   STATE     HEALTH\n10.0.0.1   ext-nvidia-persistenced   Running   ?",
  );
else if (command.startsWith("apply-config"))
  fs.copyFileSync(configurationFile!, `${folder}/configuration`);
else {
  console.error(`double: ${command} is not known`);
  process.exit(1);
}
