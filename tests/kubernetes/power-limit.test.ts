import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gpuStack } from "../../components/kubernetes";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import { planOf, selectedMachines } from "../support/plans";
import { record, type Run } from "../support/recorder";

const daemonSet = "kubernetes:apps/v1:DaemonSet";

function machine(address: string, powerLimit?: number): object {
  const common = {
    address,
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "H100 NVL" }],
  };
  return powerLimit === undefined ? common : { ...common, powerLimit };
}

const machines = {
  a: machine("192.0.2.1", 300),
  b: machine("192.0.2.2", 250),
  c: machine("192.0.2.3", 300),
  d: machine("192.0.2.4"),
};
const recordStack = (): Promise<Run> =>
  record(() => void gpuStack("lab", planOf("aarhus-h100", { machines }), { dependsOn: [] }, {}));

test("each power limit has one DaemonSet, which runs on exactly its machines and waits for the release", async () => {
  const run = await recordStack();
  const plan = planOf("aarhus-h100", { machines });
  const machinesByDaemonSet = findResources(run, daemonSet).map(({ inputs, name }) => [
    name,
    selectedMachines(inputs.spec.template.spec.nodeSelector, plan),
  ]);
  expect(machinesByDaemonSet).toEqual([
    ["lab-power-limit-250w", ["b"]],
    ["lab-power-limit-300w", ["a", "c"]],
  ]);
  for (const daemonSetResource of findResources(run, daemonSet))
    expect(dependencyUrns(run, daemonSetResource)).toContain(
      findResource(run, "kubernetes:helm.sh/v3:Release").urn,
    );
});

test("the DaemonSet of a power limit sees all cards without requesting one", async () => {
  const { inputs } = findResources(await recordStack(), daemonSet)[0]!;
  const [container] = inputs.spec.template.spec.containers;
  expect(Object.keys(container.resources.limits)).toEqual(["cpu", "memory"]);
  expect(container.env).toContainEqual({ name: "NVIDIA_VISIBLE_DEVICES", value: "all" });
});

/**
 * An nvidia-smi with two cards of 100 to 400 W. It answers the query, keeps a limit, and writes down its
 * arguments.
 */
const fakeSmi = `#!/bin/bash
cd "$(dirname "$0")"
case "$*" in
  "-pm 1") ;;
  --query-gpu=*) for card in 0 1; do echo "$card, $(cat limit-$card), 100.00, 400.00, 120.50, 37"; done ;;
  "-i "*" -pl "*) echo "$4.00" > "limit-$2"; echo "set $2 $4" >> calls ;;
  *) exit 64 ;;
esac
`;

const queryOf = (inputs: Record<string, any>): string =>
  inputs.spec.template.spec.containers[0].env.find(({ name }: { name: string }) => name === "QUERY")
    .value as string;

async function runScript(
  watts: number,
  whileRunning: (folder: string, waitForOutput: (text: string) => Promise<void>) => Promise<void>,
): Promise<string> {
  const { inputs } = findResources(await recordStack(), daemonSet)[0]!;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "power-"));
  fs.writeFileSync(path.join(folder, "nvidia-smi"), fakeSmi, { mode: 0o755 });
  for (const card of [0, 1]) fs.writeFileSync(path.join(folder, `limit-${card}`), "400.00\n");
  const [command, flag, scriptText] = inputs.spec.template.spec.containers[0].command as [
    string,
    string,
    string,
  ];
  const script = scriptText
    .replaceAll("/tmp/limited", path.join(folder, "limited"))
    .replaceAll("sleep 1800", "sleep 0.05");
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env.PATH}`,
    WATTS: String(watts),
    QUERY: queryOf(inputs),
  };
  const child = spawn(command, [flag, script], { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  const exit = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const listeners: (() => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      output += data.toString();
      listeners.forEach((listener) => listener());
    });
  }
  const waitForOutput = (expectedOutput: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const timeout = setTimeout(
        () => reject(new Error(`"${expectedOutput}" is not in the output after 5 min: ${output}`)),
        300_000,
      );
      const checkOutput = (): void => {
        if (!output.includes(expectedOutput)) return;
        clearTimeout(timeout);
        resolve();
      };
      listeners.push(checkOutput);
      checkOutput();
    });
  try {
    await whileRunning(folder, waitForOutput);
    child.kill("SIGTERM");
    await exit;
  } finally {
    child.kill("SIGKILL");
    fs.rmSync(folder, { recursive: true });
  }
  return output;
}

test("the DaemonSet of a power limit sets each card once, and again if something changes the card's limit", async () => {
  await runScript(300, async (folder, waitForOutput) => {
    await waitForOutput("card 1: 400.00 W -> 300 W");
    fs.writeFileSync(path.join(folder, "limit-1"), "350.00\n");
    await waitForOutput("card 1: 350.00 W -> 300 W");
    expect(fs.existsSync(path.join(folder, "limited"))).toBe(true);
    const smiCalls = fs.readFileSync(path.join(folder, "calls"), "utf8").trim().split("\n");
    expect(smiCalls).toEqual(["set 0 300", "set 1 300", "set 1 300"]);
    await waitForOutput("card 1: limit 300 W, draws 120.50 W, utilisation 37 %");
  });
});

test("the DaemonSet of a power limit has a read-only root and no capability but SYS_ADMIN", async () => {
  const { inputs } = findResources(await recordStack(), daemonSet)[0]!;
  expect(inputs.spec.template.spec.containers[0].securityContext).toEqual({
    runAsUser: 0,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] },
    seccompProfile: { type: "RuntimeDefault" },
  });
});

test("the DaemonSet of a power limit refuses a limit outside the card's range, and names the range", async () => {
  const output = await runScript(450, async (folder, waitForOutput) => {
    await waitForOutput(
      "card 0 takes 100.00 to 400.00 W, not 450 W: change powerLimit of this machine",
    );
    expect(fs.existsSync(path.join(folder, "calls"))).toBe(false);
    expect(fs.existsSync(path.join(folder, "limited"))).toBe(false);
  });
  expect(output).not.toContain("->");
});
