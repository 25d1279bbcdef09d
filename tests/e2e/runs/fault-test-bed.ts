import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as readline from "node:readline";
import { SecretFiles } from "../../../components/clients/secret-files";
import { TalosMachine } from "../../../components/clients/talos/talos-machine";
import { Talosctl } from "../../../components/clients/talos/talosctl";
import { upgradeTimeouts } from "../../../components/recipe/machine/planned-machine";
import { imageOf } from "../../../components/machine/upgrade-task";
import type { AdoptTask, UpgradeResult, UpgradeTask } from "../../../components/program/task";
import { planCluster, type MachineRecipe } from "../../../components/recipe";
import { labTimeouts } from "../../../lab/clock";
import type { Lab } from "../../../lab/cluster/lab";
import { stacksDir } from "../../../stacks/stack-file";
import { parseOptions } from "../../../lab/options";
import type { Session } from "../../../lab/session/session";
import { openLab } from "./run-as-program";

/** Result of one run of the machine program. */
export interface ProgramRun {
  /** Exit status, or the signal's name. */
  status: number | string;
  /** The program's answer; undefined if it failed. */
  answer: UpgradeResult | undefined;
  /** The program's progress, one line per phase, and the error if it failed. */
  lines: string[];
  /** Reboots of the machine before this run; set only by cases that count them. */
  rebootsBefore?: number;
}

/** Options of a run. */
export interface RunOptions {
  /** Called with each progress line at once; may kill the program (SIGKILL). */
  onLine?: (line: string, kill: () => void) => void;
  timeouts?: Partial<UpgradeTask["timeouts"]>;
}

/** A Kubernetes control plane, emulated machines on a plain image, and the bundled machine program. */
export interface FaultTestBed {
  lab: Lab;
  /** Stages the wanted configuration on an adopted machine, as a stack does before the upgrade. */
  adopt(machine: string): Promise<void>;
  upgrade(machine: string, options?: RunOptions): Promise<ProgramRun>;
  /** Client of the machine's API, with which a case acts as another tool. */
  machine(machine: string): TalosMachine;
}

/**
 * Starts a lab with a control plane and workers.
 *
 * @param workers names of the workers, each with a card
 */
export async function startFaultTestBed(
  session: Session,
  workers: string[],
): Promise<FaultTestBed> {
  const options = parseOptions(["--stack", "faults"]);
  const gpus = [{ model: "RTX 5070 Ti" }];
  const spec: Lab["spec"] = {
    talosVersion: "v1.12.6",
    machines: Object.fromEntries([
      ["control", { address: "10.9.0.1", role: "controlplane", configuration: "adopted" }],
      ...workers.map((name, index) => [
        name,
        { address: `10.9.1.${index + 1}`, role: "worker", configuration: "adopted", gpus },
      ]),
    ]),
    devicePlugin: { version: "0.17.4" },
    timeouts: labTimeouts(options),
  };
  const lab = await openLab(session, options, spec);
  const recipes = new Map(planCluster(spec).machines.map((recipe) => [recipe.name, recipe]));
  await registerSchematics(lab, [...recipes.values()]);
  fs.mkdirSync(session.dir("tmp"), { recursive: true, mode: 0o700 });
  const talosctl = new Talosctl({
    binary: lab.tools.talosctl,
    talosconfig: session.dir("talosconfig"),
    secrets: [],
  });
  const files = new SecretFiles();
  session.onClose(() => files.close());
  const recipeOf = (machine: string): MachineRecipe => recipes.get(machine)!;
  return {
    lab,
    adopt: async (machine) => {
      const { name, address, patches } = recipeOf(machine);
      const run = await runProgram(lab, "adopt", {
        machine: name,
        address,
        patches,
      } satisfies AdoptTask);
      if (run.status !== 0) throw new Error(`adopt ${machine}: ${run.lines.join("\n")}`);
    },
    upgrade: (machine, { onLine, timeouts } = {}) =>
      runProgram(
        lab,
        "upgrade",
        taskOf(recipeOf(machine), { ...spec.timeouts, ...timeouts }),
        onLine,
      ),
    machine: (machine) => new TalosMachine(talosctl, recipeOf(machine).address, files),
  };
}

/** The task that a stack passes to the program. */
function taskOf(
  recipe: MachineRecipe,
  timeouts: Lab["spec"]["timeouts"],
): Omit<UpgradeTask, "pollSeconds"> {
  return {
    machine: recipe.name,
    address: recipe.address,
    role: recipe.role,
    talosVersion: recipe.talosVersion,
    schematicId: recipe.schematicId,
    installerImage: recipe.installerImage,
    image: imageOf(recipe),
    configurationHash: "any",
    modules: recipe.kernelModules.map(({ name }) => name),
    ...(recipe.driverVersion === undefined ? {} : { driverVersion: recipe.driverVersion }),
    extensionServices: recipe.extensionServices,
    drain: true,
    otherControlPlanes: [],
    timeouts: upgradeTimeouts(timeouts),
  };
}

async function registerSchematics(lab: Lab, recipes: MachineRecipe[]): Promise<void> {
  for (const body of new Set(recipes.map(({ schematic }) => schematic))) {
    const response = await fetch(`${lab.factoryUrl}/schematics`, { method: "POST", body });
    if (!response.ok) throw new Error(`the Factory refuses a schematic: ${await response.text()}`);
  }
}

/**
 * Runs the bundle as the command provider does: in the stacks' folder, task on standard input, credentials in the
 * environment.
 */
async function runProgram(
  lab: Lab,
  verb: string,
  task: object,
  onLine?: RunOptions["onLine"],
): Promise<ProgramRun> {
  const { TALOSCONFIG: _talosconfig, KUBECONFIG: _kubeconfig, ...inherited } = process.env;
  const child = spawn(process.execPath, ["-e", "require('talos-gpu/bin/program.js')", "--", verb], {
    cwd: stacksDir,
    env: {
      ...inherited,
      TMPDIR: lab.session.dir("tmp"),
      TALOS_GPU_TALOSCTL: lab.tools.talosctl,
      TALOS_GPU_POLL_SECONDS: "0.5",
      TALOS_GPU_TALOSCONFIG: fs.readFileSync(lab.session.dir("talosconfig"), "utf8"),
      TALOS_GPU_KUBECONFIG: fs.readFileSync(lab.controlPlane.adminKubeconfig, "utf8"),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(JSON.stringify(task));
  const lines: string[] = [];
  readline.createInterface({ input: child.stderr }).on("line", (line) => {
    lines.push(line);
    onLine?.(line, () => void child.kill("SIGKILL"));
  });
  const output: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
  const status = await new Promise<number | string>((resolve, reject) => {
    child.on("error", reject);
    // Not "close": a talosctl that outlives the killed program keeps the program's output streams open.
    child.on("exit", (code, signal) =>
      signal === null ? child.once("close", () => resolve(code ?? -1)) : resolve(signal),
    );
  });
  const last = Buffer.concat(output).toString("utf8").trim().split("\n").at(-1) ?? "";
  return { status, answer: status === 0 ? (JSON.parse(last) as UpgradeResult) : undefined, lines };
}
