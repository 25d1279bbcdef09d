import { foretold } from "../../components/machine/foretell";
import { machineStates } from "../../components/recipe/effect/effect";
import { planOf } from "../support/plans";

const state = (talosVersion: string, kubernetesVersion = "v1.35.0", more: object = {}) =>
  machineStates(planOf("rtx5070ti", { talosVersion, kubernetesVersion, ...more }))["k8s-worker4"]!;
const contract = { machineDefaults: { versionContract: "v1.11" } };
const [older, newer] = [state("v1.12.6"), state("v1.12.7")];
const owned = (contract: string) => ({
  ...older,
  configuration: "owned",
  mayRebootIfChanged: { contract },
});
const controlPlane = (
  kubernetesVersion: string,
  list: "rebootsIfChanged" | "changesWithoutReboot",
) => ({
  ...owned("v1.12"),
  rebootsIfChanged: { talosVersion: "v1.12.6" },
  [list]: { talosVersion: "v1.12.6", role: "controlplane", kubernetesVersion },
});
const kubernetes = (
  from: string,
  to: string,
  list: Parameters<typeof controlPlane>[1] = "rebootsIfChanged",
) => [controlPlane(from, list), isUp, controlPlane(to, list)] as const;
const isUp = { talosVersion: "v1.12.6" };

test.each<[string, Parameters<typeof foretold>, RegExp]>([
  ["an edit", ["gpu-1", older, isUp, newer], /^reboots: yes: talosVersion: v1\.12\.6 → v1\.12\.7/],
  [
    "an edit over two minors",
    [
      "gpu-1",
      state("v1.11.5", "v1.34.1", contract),
      { talosVersion: "v1.11.5" },
      state("v1.13.9", "v1.34.1", { ...contract, gpuOperator: { version: "v26.3.3" } }),
    ],
    /^reboots: yes: .*2 reboots: v1\.11\.5 → v1\.12\.12 → v1\.13\.9 \(.*; it is then drained .*2 times 45m/,
  ],
  // Pulumi may find no change for the machine, although the failed update may have changed it.
  [
    "an edit that is reverted after its update failed",
    ["gpu-1", newer, {}, older],
    /^reboots: only if .*the last update failed/,
  ],
  [
    "a machine that is new",
    ["gpu-1", undefined, undefined, older],
    /^reboots: only if it does not already run Talos v1\.12\.6/,
  ],
])("the preview's words about a reboot fit %s", (_, known, word) => {
  const told = foretold(...known);
  expect(told.word).toMatch(word);
  expect(told.refused).toBeUndefined();
});

const edits: [string, Parameters<typeof foretold>, RegExp?][] = [
  [
    "a downgrade",
    ["gpu-1", newer, { talosVersion: "v1.12.7" }, older],
    /^machines\.gpu-1\.talosVersion: .*downgrades/,
  ],
  [
    "a change from adopted to owned",
    ["gpu-1", { ...older, configuration: "adopted" }, isUp, { ...older, configuration: "owned" }],
    /^machines\.gpu-1\.configuration: changes from adopted to owned; .*; write adopted\. To get owned, /,
  ],
  [
    "a change from adopted to owned after a failed update",
    ["gpu-1", { ...older, configuration: "adopted" }, {}, { ...older, configuration: "owned" }],
  ],
  [
    "a configuration that the running release cannot read",
    ["gpu-1", owned("v1.11"), { talosVersion: "v1.11.6" }, owned("v1.12")],
    /^machines\.gpu-1\.versionContract: .*HostnameConfig; write `versionContract: v1\.11`/,
  ],
  [
    "a contract that the running release can read",
    ["gpu-1", owned("v1.11"), { talosVersion: "v1.11.6" }, owned("v1.11")],
  ],
  ["the next minor of Kubernetes", ["cp-1", ...kubernetes("v1.33.1", "v1.34.0")]],
  ["an older patch of Kubernetes", ["cp-1", ...kubernetes("v1.33.1", "v1.33.0")]],
  [
    "three minors of Kubernetes",
    ["cp-1", ...kubernetes("v1.33.1", "v1.36.0")],
    /^kubernetesVersion: v1\.33\.1 → v1\.36\.0 crosses 3 minor .*; go to v1\.34 first\. .*upgrade-k8s/,
  ],
  [
    "three minors of Kubernetes on a machine that needs no reboot",
    ["cp-1", ...kubernetes("v1.33.1", "v1.36.0", "changesWithoutReboot")],
    /^kubernetesVersion: /,
  ],
  [
    "an earlier minor of Kubernetes",
    ["cp-1", ...kubernetes("v1.34.0", "v1.33.1")],
    /^kubernetesVersion: .*no downgrade.*; set it to v1\.34\.0 or newer\. /,
  ],
  [
    "an earlier minor of Kubernetes with a new reconcileToken",
    [
      "cp-1",
      controlPlane("v1.34.0", "rebootsIfChanged"),
      isUp,
      {
        ...controlPlane("v1.33.1", "rebootsIfChanged"),
        mayRebootIfChanged: { reconcileToken: "upgraded by hand" },
      },
    ],
  ],
];

test.each(edits.filter(([, , refused]) => refused !== undefined))(
  "the preview refuses %s",
  (_, known, refused) => expect(foretold(...known).refused).toMatch(refused!),
);

test.each(edits.filter(([, , refused]) => refused === undefined))(
  "the preview accepts %s",
  (_, known) => expect(foretold(...known).refused).toBeUndefined(),
);
