import type { KubeConfig } from "@kubernetes/client-node";
import { examine } from "../../../cli/doctor/examine";
import type { DoctorReport } from "../../../cli/doctor/report";
import { KubernetesApi } from "../../../components/clients/kubernetes/api";
import { CallError } from "../../../components/clients/failure";
import { classify, Talosctl } from "../../../components/clients/talos/talosctl";
import type { Plan } from "../../../components/recipe";
import type { Answer } from "../../../components/clients/kubernetes/error";
import { FakeClock } from "../../program/fakes";
import { Calls, type Fault, faultKinds } from "../../program/single-fault/faults";
import { planOf } from "../../support/plans";
import { clusterWithGpu } from "../support";

/** A machine whose card NVIDIA's DRA driver offers, and a failed pod whose log alone has the reason. */
const [node] = clusterWithGpu["/api/v1/nodes"];
const plan = planOf("dra");
const { name } = plan.machines[0]!;
const metadata = {
  name,
  labels: { "extensions.talos.dev/nvidia-open-gpu-kernel-modules-production": "1" },
};
const objects: Record<string, unknown[]> = {
  ...clusterWithGpu,
  "/api/v1/nodes": [{ ...node, metadata, status: { ...node!.status, allocatable: {} } }],
  "/apis/apps/v1/daemonsets": [
    {
      metadata: { namespace: "nvidia", name: "dra-driver-kubelet-plugin", generation: 1 },
      spec: { template: { spec: {} } },
      status: { desiredNumberScheduled: 1, numberReady: 1, observedGeneration: 1 },
    },
  ],
  "/apis/resource.k8s.io/v1/resourceslices": [
    {
      metadata: { name: "gpu-1-gpu" },
      spec: {
        nodeName: name,
        driver: "gpu.nvidia.com",
        pool: { name },
        devices: [
          {
            name: "gpu-0",
            attributes: { type: { string: "gpu" }, productName: { string: "NVIDIA L4" } },
          },
        ],
      },
    },
  ],
  "/api/v1/pods": [
    {
      metadata: { namespace: "nvidia", name: "nvidia-thing-x", uid: "x" },
      spec: { nodeName: "gpu-1", containers: [{ name: "ctr" }] },
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "ctr",
            restartCount: 4,
            ready: false,
            state: { waiting: { reason: "CrashLoopBackOff" } },
          },
        ].map((containerStatus) => ({
          ...containerStatus,
          lastState: { terminated: { exitCode: 1 } },
        })),
      },
    },
  ],
};
const podLog = "panic: no devices\n";

const answerOfApi = (url: string): Answer => {
  const { pathname } = new URL(url);
  const body = pathname.endsWith("/log")
    ? podLog
    : JSON.stringify({ items: objects[pathname] ?? [] });
  return { status: 200, headers: {}, body };
};

const kubeconfig = {
  getCurrentCluster: () => ({ name: "home", server: "https://api.home", skipTLSVerify: false }),
  getCurrentContext: () => "home",
  getCurrentUser: () => ({ name: "me" }),
  applyToHTTPSOptions: () => Promise.resolve(),
} as unknown as KubeConfig;

const resource = (id: string | number, spec: unknown): string =>
  `${JSON.stringify({ metadata: { id }, node: "127.0.0.1", spec }, null, 4)}\n`;

/**
 * Output of talosctl by its arguments. One of NVIDIA's services on the machine does not run; its log has the
 * reason.
 */
const talosctlOutputs: Record<string, string> = {
  "version --client": "Client:\nTalos v1.13.0\n",
  "version --json": `${JSON.stringify({ version: { tag: "v1.13.0" } })}\n`,
  "get machinestatus": resource("machine", {
    stage: "running",
    status: { ready: true, unmetConditions: [] },
  }),
  "get extensions": resource(0, {
    metadata: { name: "nvidia-open-gpu-kernel-modules-production", version: "1" },
  }),
  "read /proc/modules": "nvidia 1 0 - Live 0x0 (O)\n",
  "read /proc/cmdline": "talos.platform=metal\n",
  "read /proc/driver":
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build\n",
  "get pcidevices": resource("0000:01:00.0", {
    class_id: "0x03",
    vendor_id: "0x10de",
    product_id: "0x27b8",
  }),
  services:
    "NODE        SERVICE                   STATE     HEALTH\n127.0.0.1   ext-nvidia-persistenced   Waiting   ?\n",
  "logs ext-nvidia-persistenced": "failed to initialize NVML: Driver/library version mismatch\n",
  "get machineconfig": ["v1alpha1", "persistent"]
    .map((id) => resource(id, "version: v1alpha1\nmachine: {type: worker}\n"))
    .join(""),
  dmesg: "127.0.0.1: kern: info: [2026-01-01T00:00:00Z]: NVRM: loading\n",
};

/** The doctor's report, and the calls that it made. */
async function examineCluster(
  failing?: { index: number; fault: Fault },
  stackPlan?: Plan,
): Promise<{ report: DoctorReport; calls: string[] }> {
  const calls = new Calls(new FakeClock(), failing);
  const { prototype } = KubernetesApi;
  const send = jest
    .spyOn(prototype as never, "send")
    .mockImplementation((async (url: string) => answerOfApi(url)) as never);
  calls.ofApi(prototype);
  const run = jest.spyOn(Talosctl.prototype, "run").mockImplementation((args) => {
    const command = args.join(" ");
    const [, output] =
      Object.entries(talosctlOutputs).find(([prefix]) => command.startsWith(prefix)) ?? [];
    if (output === undefined)
      throw new Error(`talosctl ${command}: this test has no output for it`);
    return calls.makeCall(
      `talosctl ${command}`,
      () => Promise.resolve(output),
      ({ talosError }) => {
        throw new CallError(
          classify(talosError),
          `talosctl ${args[0]} failed (exit 1): ${talosError}`,
        );
      },
    );
  });
  try {
    const machines = { talosctl: "talosctl", talosconfig: "/nowhere", secrets: [] };
    const report = await examine({ kubeconfig, machines, leftOut: [] }, stackPlan, 10_000);
    return { report, calls: calls.callNames };
  } finally {
    for (const spy of [send, run]) spy.mockRestore();
  }
}

/** All findings, in one list. */
const problemsIn = ({ differences, findings }: DoctorReport): string[] =>
  [...differences, ...findings].map((problem) =>
    JSON.stringify({ ...problem, evidence: [], lastWords: [] }),
  );

/** The report's entry in `unseen` for a failed call of talosctl, by the first words of the call. */
const unseenByTalosctlCall: Record<string, RegExp> = {
  "version --client": /^the machines could not be read/,
  "version --json": /^machine \S+ \(\S+\) could not/,
  "get machinestatus": /: stage could not/,
  "get extensions": /: extensions could not/,
  "read /proc/modules": /: modules could not/,
  "read /proc/cmdline": /: modules could not/,
  "read /proc/driver": /: driver could not/,
  "get pcidevices": /: cards could not/,
  services: /: services could not/,
  "logs ext-nvidia-persistenced": /: services' last words could not/,
  "get machineconfig": /: configuration could not/,
  dmesg: /: kernel log could not/,
};

/** The report's entry in `unseen` for a failed call. */
const unseenEntryOf = (call: string): RegExp => {
  const talosctlEntry = Object.entries(unseenByTalosctlCall).find(([prefix]) =>
    call.startsWith(`talosctl ${prefix}`),
  );
  if (talosctlEntry !== undefined) return talosctlEntry[1];
  const resourceName = call.split("/").at(-1)!;
  return resourceName === "log"
    ? /nvidia-thing-x/
    : new RegExp(
        `^${resourceName === "secrets" ? "releases" : resourceName} could not be listed`,
        "i",
      );
};

test("without a fault, the report has the card, and the last messages of the failing pod and service", async () => {
  const { report } = await examineCluster();
  expect(report.unseen).toEqual([]);
  expect(JSON.stringify(report)).toContain("no devices");
  expect(JSON.stringify(report)).toContain("Driver/library version mismatch");
  expect(report.inventory).toEqual([expect.stringContaining("1 × gpu.nvidia.com")]);
});

const cases = faultKinds.flatMap((fault) => [
  { ...fault, fault, stackState: "without a stack", planned: undefined },
  { ...fault, fault, stackState: "with the stack", planned: plan },
]);

test.each(cases)(
  "if any single call fails ($name, $stackState), the doctor's report is the same or lists the missing observation",
  async ({ fault, planned }) => {
    const faultless = await examineCluster(undefined, planned);
    expect(faultless.calls.length).toBeGreaterThan(10);
    let changedReports = 0;
    for (const [index, call] of faultless.calls.entries()) {
      // Node.js does not distinguish a log that is cut off from a connection that was reset.
      if (call.endsWith("/log") && fault.name === "cut off") continue;
      const { report } = await examineCluster({ index, fault }, planned);
      if (JSON.stringify(report) === JSON.stringify(faultless.report)) continue;
      changedReports += 1;
      expect({ call, unseen: report.unseen }).toEqual({
        call,
        unseen: [expect.stringMatching(unseenEntryOf(call))],
      });
      const usualProblems = problemsIn(faultless.report);
      const newProblems = problemsIn(report).filter((problem) => !usualProblems.includes(problem));
      expect({ call, newProblems }).toEqual({ call, newProblems: [] });
      expect(report.status).not.toBe(0);
    }
    // Some calls are repeated or optional, but not all, so some faults must change the report.
    expect(changedReports).toBeGreaterThan(5);
  },
);
