import { yaml } from "../../support/yaml";
import { expectPlan, type StackChange } from "./expect-plan";

// The chart gets a MIG strategy always, unless a configuration of the user sets one.

/** The device plugin in the place of the operator. */
const pluginAlone = (version: string, values?: Record<string, unknown>): StackChange => ({
  gpuOperator: null,
  devicePlugin: { version, ...(values && { values }) },
});

test("without sharing, the MIG strategy is none", () =>
  expectPlan(
    { talosVersion: "v1.11.6", change: pluginAlone("0.18.2") },
    { kubernetes: { release: { values: { migStrategy: "none" } } } },
  ));

test("with time slices, the MIG strategy is none", () =>
  expectPlan(
    {
      talosVersion: "v1.11.6",
      change: {
        gpuOperator: null,
        devicePlugin: { version: "0.18.2" },
        sharing: { timeSlicing: { replicas: 4 } },
      },
    },
    { kubernetes: { release: { values: { migStrategy: "none" } } } },
  ));

test("the user's MIG strategy", () =>
  expectPlan(
    { talosVersion: "v1.11.6", change: pluginAlone("0.18.2", { migStrategy: "mixed" }) },
    { kubernetes: { release: { values: { migStrategy: "mixed" } } } },
  ));

test("a configuration of the user that sets the MIG strategy", () =>
  expectPlan(
    {
      talosVersion: "v1.11.6",
      change: pluginAlone("0.18.2", {
        config: {
          map: {
            default: yaml`
              version: v1
              flags: { migStrategy: single }
            `,
          },
        },
      }),
    },
    { kubernetes: { release: { values: { migStrategy: null } } } },
  ));

test("on Talos 1.13 the plugin uses CDI, which gives a card to a pod of any runtime", () =>
  expectPlan(
    { change: pluginAlone("0.19.3") },
    {
      kubernetes: {
        release: {
          values: {
            deviceListStrategy: "cdi-cri",
            runtimeClassName: "nvidia",
            nvidiaDriverRoot: "/",
          },
        },
      },
    },
  ));

test("on Talos 1.15, which has no NVIDIA runtime, the plugin's pod sees all devices", () =>
  expectPlan(
    {
      base: "aarhus-h100",
      talosVersion: "v1.15.0-beta.0",
      machine: { runningVersion: null },
      change: {
        devicePlugin: {
          version: "0.19.3",
          values: { cdi: { nvidiaHookPath: "/var/lib/nvidia/nvidia-cdi-hook" } },
        },
      },
    },
    {
      kubernetes: {
        release: {
          values: {
            deviceListStrategy: "cdi-cri",
            nvidiaDriverRoot: "/usr/local",
            runtimeClassName: null,
            securityContext: { privileged: true },
          },
        },
      },
    },
  ));

test("the variable, if the user sets it", () =>
  expectPlan(
    { change: pluginAlone("0.19.3", { deviceListStrategy: "envvar" }) },
    {
      kubernetes: { release: { values: { deviceListStrategy: "envvar", nvidiaDriverRoot: null } } },
    },
  ));

test("the variable, if the user sets another driver root", () =>
  expectPlan(
    { change: pluginAlone("0.19.3", { nvidiaDriverRoot: "/usr/local" }) },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "envvar", nvidiaDriverRoot: "/usr/local" } },
      },
    },
  ));

test("the variable, if the plugin is older than the tables", () =>
  expectPlan(
    { change: pluginAlone("0.14.5") },
    {
      kubernetes: { release: { values: { deviceListStrategy: "envvar", nvidiaDriverRoot: null } } },
    },
  ));

test("cdi-cri with the host's root", () =>
  expectPlan(
    { change: pluginAlone("0.19.3", { deviceListStrategy: "cdi-cri" }) },
    {
      kubernetes: { release: { values: { deviceListStrategy: "cdi-cri", nvidiaDriverRoot: "/" } } },
    },
  ));

test("cdi-annotations with the host's root", () =>
  expectPlan(
    { change: pluginAlone("0.19.3", { deviceListStrategy: "cdi-annotations" }) },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "cdi-annotations", nvidiaDriverRoot: "/" } },
      },
    },
  ));

test("the variable and cdi-cri with the host's root", () =>
  expectPlan(
    { change: pluginAlone("0.19.3", { deviceListStrategy: "envvar,cdi-cri" }) },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "envvar,cdi-cri", nvidiaDriverRoot: "/" } },
      },
    },
  ));

test("cdi-cri with a driver root of the user", () =>
  expectPlan(
    {
      change: pluginAlone("0.19.3", { deviceListStrategy: "cdi-cri", nvidiaDriverRoot: "/driver" }),
    },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "cdi-cri", nvidiaDriverRoot: "/driver" } },
      },
    },
  ));

test("cdi-annotations with a driver root of the user", () =>
  expectPlan(
    {
      change: pluginAlone("0.19.3", {
        deviceListStrategy: "cdi-annotations",
        nvidiaDriverRoot: "/driver",
      }),
    },
    { kubernetes: { release: { values: { nvidiaDriverRoot: "/driver" } } } },
  ));

test("the variable and cdi-cri with a driver root of the user", () =>
  expectPlan(
    {
      change: pluginAlone("0.19.3", {
        deviceListStrategy: "envvar,cdi-cri",
        nvidiaDriverRoot: "/driver",
      }),
    },
    { kubernetes: { release: { values: { nvidiaDriverRoot: "/driver" } } } },
  ));

test("a ConfigMap that the stack does not contain gets a note at its field", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { values: { config: { name: "mine" } } } } },
    { someNotes: [/^devicePlugin\.values\.config: .*how many GPUs/] },
  ));

test("a ConfigMap of another tool's plugin gets a note at external.values", () =>
  expectPlan(
    {
      base: "aarhus-h100",
      change: {
        devicePlugin: null,
        external: { kind: "devicePlugin", version: "0.19.3", values: { config: { name: "mine" } } },
      },
    },
    { someNotes: [/^external\.values: .*how many GPUs/] },
  ));

test("a release of the tables gets no note", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { version: "0.18.2" } } },
    { noNote: [/0\.18\.2/] },
  ));

test("a release between two of the tables gets a note", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { version: "0.18.0" } } },
    { someNotes: [/checks its values by the tables of 0\.17\.4 and 0\.18\.2; /] },
  ));

test("a release newer than the tables that asks for InfiniBand gets two notes", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { version: "0.19.2" } } },
    { someNotes: [/0\.19\.2.*not in the tables/, /0\.19\.2.*InfiniBand/] },
  ));

test("a release between two of the tables accepts a value that one of them has", () =>
  expectPlan(
    {
      base: "aarhus-h100",
      change: { devicePlugin: { version: "0.18.0", values: { gdrcopyEnabled: true } } },
    },
    { findings: [] },
  ));

test("a plugin that the stack takes over without NVIDIA's runtime gets a note", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      change: { gpuOperator: null, devicePlugin: { version: "0.18.2", takeOver: "a", values: {} } },
    },
    { someNotes: [/^devicePlugin\.values\.runtimeClassName: is not set/] },
  ));

test("a plugin that the stack takes over with NVIDIA's runtime gets no note", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      change: {
        gpuOperator: null,
        devicePlugin: { version: "0.18.2", takeOver: "a", values: { runtimeClassName: "nvidia" } },
      },
    },
    { noNote: [/^devicePlugin\.values\.runtimeClassName: is not set/] },
  ));

test("the chart's repository is the stack's, and pods may have several slices", () =>
  expectPlan(
    { base: "mirrored" },
    {
      machines: { large: { driverVersion: "595.112.07" }, small: { driverVersion: "580.196.07" } },
      kubernetes: {
        release: {
          chart: "nvidia-device-plugin",
          repository: "oci://ghcr.io/home-operations/charts-mirror",
        },
        sharingConfig: yaml`
          version: v1
          sharing:
            timeSlicing:
              renameByDefault: false
              failRequestsGreaterThanOne: false
              resources:
                - name: nvidia.com/gpu
                  replicas: 6
        `,
      },
    },
  ));

test("two different cards, and a Node Feature Discovery of the user, get notes", () =>
  expectPlan(
    { base: "own-discovery" },
    {
      kubernetes: { release: { repository: "https://charts.example.org/nvidia" } },
      someNotes: [/any of its cards/, /another Node Feature Discovery/],
    },
  ));
