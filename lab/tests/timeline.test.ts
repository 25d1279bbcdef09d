import { type Told, timelineOf } from "../run/timeline";

const urn = (type: string, name: string): string => `urn:pulumi:home::talos-gpu::${type}::${name}`;
const resource = (at: number, state: "started" | "done", type: string, name: string, op = "create"): Told => ({
  at,
  progress: { kind: "resource", state, op, urn: urn(type, name), type, name },
});
const upgrade = ["command:local:Command", "home-gpu-1-upgrade"] as const;
const says = (at: number, message: string): Told => ({
  at,
  progress: { kind: "message", severity: "info", message, urn: urn(...upgrade), ephemeral: true },
});

test("a run over time: phases of the machine's upgrade, then what waited for them", () => {
  const told = [
    resource(0, "started", ...upgrade),
    says(1, "gpu-1: pull: installer factory.talos.dev/…, up to 10m"),
    says(2, "gpu-1: drain: evicting pods, up to 5m"),
    says(2.5, "gpu-1: node gpu-1 is the only one, its pods have nowhere to go: not drained"),
    says(4, "gpu-1: reboot: waiting up to 30m for a new boot id"),
    says(14, "gpu-1: verify: modules, driver and extension services, up to 5m"),
    resource(16, "done", ...upgrade),
    resource(16, "started", "kubernetes:helm.sh/v3:Release", "home-release"),
    resource(20, "done", "kubernetes:helm.sh/v3:Release", "home-release"),
    resource(20, "started", "command:local:Command", "home-gate"),
    resource(25, "done", "command:local:Command", "home-gate"),
    resource(25, "started", "kubernetes:apps/v1:Deployment", "home-ollama-deployment", "same"),
    resource(26, "done", "kubernetes:apps/v1:Deployment", "home-ollama-deployment", "same"),
  ];
  const { bars } = timelineOf(told, "home", ["gpu-1", "gpu-10"]);
  expect(bars.map(({ section, label, from, to }) => [section, label, from, to])).toEqual([
    ["gpu-1", "pulls the installer", 1, 2],
    ["gpu-1", "drains", 2, 4],
    ["gpu-1", "reboots", 4, 14],
    ["gpu-1", "is verified", 14, 16],
    ["release", "waits for gpu-1", 0, 16],
    ["release", "is installed", 16, 20],
    ["gate", "waits for release", 0, 20],
    ["gate", "has all smoke tests passed", 20, 25],
  ]);
});
