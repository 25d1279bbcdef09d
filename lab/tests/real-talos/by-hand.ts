import { execFile } from "node:child_process";
import * as fs from "node:fs";
import { promisify } from "node:util";
import type { V1Lease, V1Node, V1Pod } from "@kubernetes/client-node";
import { parse } from "yaml";
import { planCluster, type MachineRecipe } from "../../../components/recipe";
import { bringUp } from "../../cluster/bring-up";
import type { Lab } from "../../cluster/lab";
import { isReady } from "../../kubernetes/node";
import { parseOptions } from "../../options";
import { runPhases } from "../../phases";
import { stackConfiguration } from "../../run/stack-configuration";
import { openEngine, preview, update } from "../../run/updates";
import { Session } from "../../session/session";
import { provideTools } from "../../tools";
import { until, untilSeen } from "../../until";
import { stacksDir } from "../../../stacks/stack-file";

// `node lab/bundle/run.js lab/tests/real-talos/by-hand.ts WAY` installs a real Talos machine up to its first CUDA job,
// and measures how long that takes. WAY `hand` follows, with talosctl and helm, the guide from which the stack aarhus-h100 was
// written. `written` also writes the guide's file outside /var, with which no machine boots. `pulumi` uses the stack.
// lab/docs/conformance.md has the results.

/** Files that the guide's reader writes. */
const guideFiles = {
  "modules.yaml":
    'machine: { kernel: { modules: [{ name: nvidia }, { name: nvidia_uvm }, { name: nvidia_drm }, { name: nvidia_modeset }] }, sysctls: { net.core.bpf_jit_harden: "1" } }',
  "no-cgroups.yaml":
    'machine: { files: [{ op: create, path: /etc/nvidia-container-runtime/config.toml, permissions: 0o644, content: "[nvidia-container-cli]\\nno-cgroups = true\\n" }] }',
  "values.yaml":
    "{ runtimeClassName: nvidia, affinity: null, nodeSelector: { kubernetes.io/os: linux }, tolerations: [{ key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule }, { key: CriticalAddonsOnly, operator: Exists }] }",
  "class.yaml":
    "{ apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: { name: nvidia }, handler: nvidia }",
  "test.yaml":
    "{ apiVersion: v1, kind: Pod, metadata: { name: nvidia-test }, spec: { restartPolicy: Never, runtimeClassName: nvidia, containers: [{ name: nvidia-test, image: 'nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04', args: [nvidia-smi] }] } }",
};

/** Runs the guide's commands, and waits for each state that its reader checks. */
async function followGuide(
  lab: Lab,
  { name, address, installerImage }: MachineRecipe,
  withFileOutsideVar: boolean,
): Promise<void> {
  const { session, kubernetes } = lab;
  const programs = { ...lab.tools, ...(await provideTools({ only: ["helm"] })) };
  const patience = { seconds: 600, every: 1000 };
  for (const [file, text] of Object.entries(guideFiles)) fs.writeFileSync(session.dir(file), text);
  const env = {
    PATH: process.env.PATH,
    HOME: session.dir(),
    KUBECONFIG: lab.controlPlane.adminKubeconfig,
  };
  const connectionFlags = {
    talosctl: ["--talosconfig", "talosconfig", "--nodes", address],
    helm: [],
  };
  const runTool = async (program: "talosctl" | "helm", command: string): Promise<string> => {
    console.error(`    ${program} ${command}`);
    const args = [...connectionFlags[program], ...command.split(" ")];
    return (
      await promisify(execFile)(programs[program], args, {
        env,
        cwd: session.dir(),
        timeout: 600_000,
      })
    ).stdout;
  };
  const waitForOutput = (command: string, expected: string): Promise<string> => {
    const readOutput = (): Promise<string> => runTool("talosctl", command).catch(String);
    return untilSeen(command, patience, readOutput, (text) => text.includes(expected));
  };
  const apply = (file: "class.yaml" | "test.yaml"): Promise<void> =>
    kubernetes.apply(parse(guideFiles[file]), { fieldManager: "kubectl", force: false });

  // To drain, talosctl asks its endpoint for a kubeconfig, which a worker cannot give. To wait, it needs a lasting
  // connection.
  await runTool("talosctl", `upgrade --image ${installerImage} --drain=false --wait=false`);
  await waitForOutput("get extensions", "nvidia-container-toolkit");
  await runTool("talosctl", "patch mc --patch @modules.yaml");
  await waitForOutput("read /proc/driver/nvidia/version", "NVRM");
  await waitForOutput("read /proc/modules", "nvidia_modeset");
  if (withFileOutsideVar) await runTool("talosctl", "patch mc --patch @no-cgroups.yaml");
  await apply("class.yaml");
  await runTool(
    "helm",
    `repo add nvdp ${lab.charts!.addressOf("https://nvidia.github.io/k8s-device-plugin")}`,
  );
  await runTool("helm", "repo update");
  await runTool(
    "helm",
    "upgrade --install nvidia-device-plugin nvdp/nvidia-device-plugin -n kube-system -f values.yaml",
  );
  const offersTwoCards = ({ status }: V1Node): boolean =>
    status?.allocatable?.["nvidia.com/gpu"] === "2";
  await untilSeen(
    "two cards",
    patience,
    () => kubernetes.readPath<V1Node>(`/api/v1/nodes/${name}`),
    offersTwoCards,
  );
  await apply("test.yaml");
}

/**
 * Observes a node every second until stopped. The node accepts pods while it is ready and not cordoned, and its kubelet
 * renews the node's lease.
 */
function watchNode({ kubernetes }: Lab, name: string) {
  const startTime = performance.now();
  const elapsedSeconds = (): number => (performance.now() - startTime) / 1000;
  const observed = {
    boots: new Set<string>(),
    jobSeconds: NaN,
    unavailableSeconds: 0,
    takesPods: true,
  };
  let renewTime = ""; // as the lease has it
  let renewedAt = 0;
  let unavailableSince = 0;
  let isStopped = false;
  const observe = async (): Promise<void> => {
    const [node, lease, pods] = await Promise.all([
      kubernetes.readPath<V1Node>(`/api/v1/nodes/${name}`),
      kubernetes.readPath<V1Lease>(
        `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`,
      ),
      kubernetes.all<V1Pod>(`/api/v1/pods?fieldSelector=spec.nodeName%3D${name}`),
    ]);
    if (String(lease.spec?.renewTime) !== renewTime) {
      renewTime = String(lease.spec?.renewTime);
      renewedAt = elapsedSeconds();
    }
    observed.boots.add(node.status?.nodeInfo?.bootID ?? "");
    const jobs = pods.filter(({ spec }) => /\bcuda/.test(spec!.containers[0]!.image!));
    if (!(observed.jobSeconds > 0) && jobs.some(({ status }) => status?.phase === "Succeeded"))
      observed.jobSeconds = elapsedSeconds();
    const isLeaseStale = elapsedSeconds() - renewedAt > 20; // kubelet renews the lease every ten seconds
    const takesPods = isReady(node) && node.spec?.unschedulable !== true && !isLeaseStale;
    if (takesPods !== observed.takesPods)
      console.error(`    ${elapsedSeconds().toFixed(0)} s: takes ${takesPods ? "" : "no "}pods`);
    if (observed.takesPods) unavailableSince = isLeaseStale ? renewedAt : elapsedSeconds();
    if (!takesPods) {
      observed.unavailableSeconds += elapsedSeconds() - unavailableSince;
      unavailableSince = elapsedSeconds();
    }
    observed.takesPods = takesPods;
  };
  const observeQuietly = (): Promise<void> => observe().catch(() => undefined); // the API server may be slow
  const watching = until({ seconds: 7200, every: 1000 }, observeQuietly, () => isStopped);
  const stop = (): typeof watching => {
    isStopped = true;
    return watching;
  };
  return { observed, elapsedSeconds, stop };
}

async function main([way = "", ...labOptions]: string[]): Promise<void> {
  const session = new Session();
  // The stack, on a Talos release that the lab builds. Its machine is a worker, so its cluster can report it during a
  // reboot.
  const stack = session.dir("Pulumi.by-hand.yaml");
  const text = fs
    .readFileSync(`${stacksDir}/Pulumi.aarhus-h100.yaml`, "utf8")
    .replace("v1.11.5", "v1.13.0");
  fs.writeFileSync(stack, text.replace("role: controlplane", "role: worker"));
  const options = parseOptions(["--machines", "real", "--stack", stack, ...labOptions]);
  const { spec, config } = stackConfiguration(stack, options);
  const lab = {
    options,
    session,
    without: [],
    talosReleases: ["v1.13.0"],
    spec,
    config,
  } as unknown as Lab; // the phases add the rest
  await runPhases(bringUp, lab);
  const machine = planCluster(spec).machines[0]!;
  // Builds the image of the guide's two extensions beforehand, so neither way waits for it.
  await lab.imageFactory!.register(machine.schematic);
  await fetch(
    `${lab.factoryUrl}/v2${/[/].*/.exec(machine.installerImage)![0].replace(":", "/manifests/")}`,
  );
  const say = (line: string): void => console.error(`    ${line}`);
  const engine = way === "pulumi" ? await openEngine(lab) : undefined;
  const { observed, elapsedSeconds, stop } = watchNode(lab, machine.name);
  if (engine !== undefined)
    for (const step of [preview, update])
      say(`${(await step(lab, engine, say)).report.result}: ${elapsedSeconds().toFixed(0)} s`);
  else
    await followGuide(lab, machine, way === "written").catch((error: Error) => say(error.message));
  const totalSeconds = Math.round(elapsedSeconds());
  await until({ seconds: 120 }, () => observed.jobSeconds > 0 && observed.takesPods, Boolean);
  await stop();
  const { reboots, stage, ready } = (await lab.machines.state())[machine.name]!;
  console.log(
    JSON.stringify({
      way,
      boots: observed.boots.size,
      reboots,
      job: Math.round(observed.jobSeconds),
      away: Math.round(observed.unavailableSeconds),
      all: totalSeconds,
      stage,
      ready,
    }),
  );
  await session.close();
}

void main(process.argv.slice(2)).then(() => process.exit());
