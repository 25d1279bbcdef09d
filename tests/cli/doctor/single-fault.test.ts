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
import { offering } from "../stand";

/** A machine whose card NVIDIA's DRA driver offers, and a pod that gives the reason of its end only in its log. */
const [node] = offering["/api/v1/nodes"];
const plan = planOf("dra");
const { name } = plan.machines[0]!;
const metadata = {
  name,
  labels: { "extensions.talos.dev/nvidia-open-gpu-kernel-modules-production": "1" },
};
const objects: Record<string, unknown[]> = {
  ...offering,
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
        ].map((one) => ({ ...one, lastState: { terminated: { exitCode: 1 } } })),
      },
    },
  ],
};
const LOG = "panic: no devices\n";

const answer = (url: string): Answer => {
  const { pathname } = new URL(url);
  const body = pathname.endsWith("/log") ? LOG : JSON.stringify({ items: objects[pathname] ?? [] });
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
const printed: Record<string, string> = {
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
async function look(
  failing?: { at: number; fault: Fault },
  planned?: Plan,
): Promise<{ report: DoctorReport; calls: string[] }> {
  const calls = new Calls(new FakeClock(), failing);
  const { prototype } = KubernetesApi;
  const send = jest
    .spyOn(prototype as never, "send")
    .mockImplementation((async (url: string) => answer(url)) as never);
  calls.ofApi(prototype);
  const run = jest.spyOn(Talosctl.prototype, "run").mockImplementation((args) => {
    const asked = args.join(" ");
    const [, answer] = Object.entries(printed).find(([begin]) => asked.startsWith(begin)) ?? [];
    if (answer === undefined) throw new Error(`talosctl ${asked}: it was not asked before`);
    return calls.meet(
      `talosctl ${asked}`,
      () => Promise.resolve(answer),
      ({ says }) => {
        throw new CallError(classify(says), `talosctl ${args[0]} failed (exit 1): ${says}`);
      },
    );
  });
  try {
    const machines = { talosctl: "talosctl", talosconfig: "/nowhere", secrets: [] };
    const report = await examine({ kubeconfig, machines, leftOut: [] }, planned, 10_000);
    return { report, calls: calls.made };
  } finally {
    for (const spy of [send, run]) spy.mockRestore();
  }
}

/** All findings, in one list. */
const wrong = ({ differences, findings }: DoctorReport): string[] =>
  [...differences, ...findings].map((one) =>
    JSON.stringify({ ...one, evidence: [], lastWords: [] }),
  );

/** The entry in "could not look" for a failed call of talosctl, by the first words of the call. */
const ofMachine: Record<string, RegExp> = {
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

/** The entry in "could not look" for a failed call. */
const nameOf = (call: string): RegExp => {
  const ofTalos = Object.entries(ofMachine).find(([begin]) => call.startsWith(`talosctl ${begin}`));
  if (ofTalos !== undefined) return ofTalos[1];
  const last = call.split("/").at(-1)!;
  return last === "log"
    ? /nvidia-thing-x/
    : new RegExp(`^${last === "secrets" ? "releases" : last} could not be listed`, "i");
};

test("without a fault the doctor sees the card, and the last words of the failing pod", async () => {
  const { report } = await look();
  expect(report.unseen).toEqual([]);
  expect(JSON.stringify(report)).toContain("no devices");
  expect(JSON.stringify(report)).toContain("Driver/library version mismatch");
  expect(report.inventory).toEqual([expect.stringContaining("1 × gpu.nvidia.com")]);
});

const cases = faultKinds.flatMap((fault) => [
  { ...fault, fault, held: "without a stack", planned: undefined },
  { ...fault, fault, held: "with the stack", planned: plan },
]);

test.each(cases)(
  "if any single call fails ($name, $held), the doctor's report is the same or has the missing observation",
  async ({ fault, planned }) => {
    const without = await look(undefined, planned);
    expect(without.calls.length).toBeGreaterThan(10);
    let changed = 0;
    for (const [at, call] of without.calls.entries()) {
      // Node.js does not distinguish a log that is cut off from a connection that was reset.
      if (call.endsWith("/log") && fault.name === "cut off") continue;
      const { report } = await look({ at, fault }, planned);
      if (JSON.stringify(report) === JSON.stringify(without.report)) continue;
      changed += 1;
      expect({ call, unseen: report.unseen }).toEqual({
        call,
        unseen: [expect.stringMatching(nameOf(call))],
      });
      expect({
        call,
        wrong: wrong(report).filter((one) => !wrong(without.report).includes(one)),
      }).toEqual({
        call,
        wrong: [],
      });
      expect(report.status).not.toBe(0);
    }
    // Some calls are repeated or optional, but not all, so some faults must change the report.
    expect(changed).toBeGreaterThan(5);
  },
);
