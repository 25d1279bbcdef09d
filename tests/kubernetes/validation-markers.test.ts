import { leaveOut } from "../../lab/without";
import { execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gpuStack } from "../../components/kubernetes";
import type { FixId } from "../../components/diagnosis";
import { planCluster } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import { findResource } from "../support/graph";
import { selectorMatches, planOf, selectedMachines } from "../support/plans";
import { record } from "../support/recorder";

async function markers(): Promise<{ pod: any; content: Record<string, string> }> {
  const run = await record(() => void gpuStack("lab", planOf("rtx5070ti"), { dependsOn: [] }, {}));
  const daemonSet = findResource(run, "kubernetes:apps/v1:DaemonSet");
  return {
    pod: daemonSet.inputs.spec.template.spec,
    content: findResource(run, "kubernetes:core/v1:ConfigMap").inputs.data,
  };
}

test("the markers' pod is not privileged and mounts only the markers' folder", async () => {
  const { pod } = await markers();
  const [container] = pod.containers;
  expect(container.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    seccompProfile: { type: "RuntimeDefault" },
    runAsUser: 0,
    readOnlyRootFilesystem: true,
  });
  expect(pod.volumes.filter((volume: any) => volume.hostPath)).toEqual([
    { name: "run-nvidia", hostPath: { path: "/run/nvidia", type: "DirectoryOrCreate" } },
  ]);
  expect(container.lifecycle).toBeUndefined(); // a preStop hook would remove the markers while the operands still need them
});

test("the markers' pods run only on the stack's machines, although the operator labels every machine with a card", async () => {
  const { pod } = await markers();
  const plan = planOf("rtx5070ti");
  expect(selectedMachines(pod.nodeSelector, plan, { "nvidia.com/gpu.present": "true" })).toEqual([
    "k8s-worker4",
  ]);
  expect(selectorMatches(pod.nodeSelector, { "nvidia.com/gpu.present": "true" })).toBe(false);
});

test("changed content of the markers replaces their pods", async () => {
  const hashOf = async (leftOutFixes: FixId[], additionalContent = ""): Promise<string> => {
    const plan = leaveOut(leftOutFixes, planCluster(validStack("mig")));
    plan.kubernetes.markers[0]!.content += additionalContent;
    const run = await record(() => void gpuStack("lab", plan, { dependsOn: [] }, {}));
    const { metadata } = findResource(run, "kubernetes:apps/v1:DaemonSet", "-markers").inputs.spec
      .template;
    return metadata.annotations["talos-gpu/content"];
  };
  const firstHash = await hashOf([]);
  const hashWithoutFix = await hashOf(["bpfJitHarden"]);
  const hashOfOtherContent = await hashOf([], "MORE=1\n");
  expect(firstHash).toMatch(/^[0-9a-f]{12}$/);
  expect(hashWithoutFix).toBe(firstHash);
  expect(hashOfOtherContent).not.toBe(firstHash);
});

/** The container's own script, with a folder in place of its fixed paths. */
async function scriptsIn(folder: string): Promise<string[]> {
  const { pod, content } = await markers();
  const [container] = pod.containers;
  fs.mkdirSync(path.join(folder, "markers"));
  for (const [file, text] of Object.entries(content))
    fs.writeFileSync(path.join(folder, "markers", file), text);
  const withFolder = (text: string): string =>
    text
      .replaceAll("/run/nvidia/validations", path.join(folder, "validations"))
      .replaceAll("/markers/", `${folder}/markers/`)
      .replaceAll("/proc/driver/nvidia/version", path.join(folder, "version"))
      .replaceAll("sleep 30", "sleep 0.05");
  expect(container.env).toEqual([{ name: "MARKERS", value: Object.keys(content).join(" ") }]);
  return [
    withFolder(container.command[2]),
    withFolder(container.readinessProbe.exec.command[2]),
    container.env[0].value,
  ];
}

test("the markers' pod writes the markers once the driver is loaded, and again after they were deleted or changed", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "markers-"));
  const [loopScript, probeScript, names] = (await scriptsIn(folder)) as [string, string, string];
  const env = { ...process.env, MARKERS: names };
  const isReady = (): boolean => {
    try {
      execFileSync("/bin/sh", ["-c", probeScript], { env });
      return true;
    } catch {
      return false;
    }
  };
  const outputChunks: string[] = [];
  const waitForOutput = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const timeout = setTimeout(
        () =>
          reject(new Error(`"${text}" is not in the output after 5 min: ${outputChunks.join("")}`)),
        300_000,
      );
      const checkOutput = (): void => {
        if (!outputChunks.join("").includes(text))
          return void child.stdout.once("data", checkOutput);
        clearTimeout(timeout);
        resolve();
      };
      checkOutput();
    });
  const child = spawn("/bin/sh", ["-c", loopScript], { env, stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.on("data", (data: Buffer) => void outputChunks.push(data.toString()));
  try {
    await waitForOutput("driver is not loaded");
    expect(isReady()).toBe(false);

    fs.writeFileSync(path.join(folder, "version"), "NVRM version: 570.211.01");
    await waitForOutput("wrote toolkit-ready");
    expect(isReady()).toBe(true);
    const driverReady = path.join(folder, "validations", "driver-ready");
    expect(fs.readFileSync(driverReady, "utf8")).toContain("IS_HOST_DRIVER=true\n");
    expect(fs.readdirSync(path.join(folder, "validations")).sort()).toEqual(
      names.split(" ").sort(),
    );

    outputChunks.length = 0;
    fs.rmSync(driverReady);
    await waitForOutput("wrote driver-ready");

    outputChunks.length = 0;
    fs.writeFileSync(driverReady, "of another owner");
    await waitForOutput("wrote driver-ready");
    expect(fs.readFileSync(driverReady, "utf8")).toContain("IS_HOST_DRIVER=true\n");
    expect(isReady()).toBe(true);
  } finally {
    const exit = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    expect(await exit).toBe(0); // at once, without waiting for the grace period
    fs.writeFileSync(path.join(folder, "validations", "driver-ready"), "of another owner");
    expect(isReady()).toBe(false); // nothing repairs it any more
    fs.rmSync(folder, { recursive: true });
  }
});
