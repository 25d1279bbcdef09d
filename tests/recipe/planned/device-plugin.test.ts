import { yaml } from "../../support/yaml";
import { expectPlan, type StackChange } from "./expect-plan";

// The chart always gets a MIG strategy, unless a configuration of the user sets one.

/** The device plugin in place of the operator. */
const pluginInsteadOfOperator = (
  version: string,
  values?: Record<string, unknown>,
): StackChange => ({
  gpuOperator: null,
  devicePlugin: { version, ...(values && { values }) },
});

test("without sharing, the MIG strategy is none", () =>
  expectPlan(
    { talosVersion: "v1.11.6", change: pluginInsteadOfOperator("0.18.2") },
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

test("a MIG strategy in devicePlugin.values replaces the stack's", () =>
  expectPlan(
    {
      talosVersion: "v1.11.6",
      change: pluginInsteadOfOperator("0.18.2", { migStrategy: "mixed" }),
    },
    { kubernetes: { release: { values: { migStrategy: "mixed" } } } },
  ));

test("if the plugin's configuration in devicePlugin.values sets the MIG strategy, the stack sets none", () =>
  expectPlan(
    {
      talosVersion: "v1.11.6",
      change: pluginInsteadOfOperator("0.18.2", {
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

test("on Talos 1.13, the stack lets the plugin hand out cards through CDI", () =>
  expectPlan(
    { change: pluginInsteadOfOperator("0.19.3") },
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

test("on Talos 1.15, which has no NVIDIA runtime, the plugin's pod is privileged", () =>
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

test("a deviceListStrategy of envvar in devicePlugin.values stays", () =>
  expectPlan(
    { change: pluginInsteadOfOperator("0.19.3", { deviceListStrategy: "envvar" }) },
    {
      kubernetes: { release: { values: { deviceListStrategy: "envvar", nvidiaDriverRoot: null } } },
    },
  ));

test("the plugin uses envvar if devicePlugin.values set another driver root", () =>
  expectPlan(
    { change: pluginInsteadOfOperator("0.19.3", { nvidiaDriverRoot: "/usr/local" }) },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "envvar", nvidiaDriverRoot: "/usr/local" } },
      },
    },
  ));

test("a plugin that is older than the tables uses envvar", () =>
  expectPlan(
    { change: pluginInsteadOfOperator("0.14.5") },
    {
      kubernetes: { release: { values: { deviceListStrategy: "envvar", nvidiaDriverRoot: null } } },
    },
  ));

test("with cdi-cri in devicePlugin.values, the stack sets the driver root to /", () =>
  expectPlan(
    { change: pluginInsteadOfOperator("0.19.3", { deviceListStrategy: "cdi-cri" }) },
    {
      kubernetes: { release: { values: { deviceListStrategy: "cdi-cri", nvidiaDriverRoot: "/" } } },
    },
  ));

test("with cdi-annotations in devicePlugin.values, the stack sets the driver root to /", () =>
  expectPlan(
    { change: pluginInsteadOfOperator("0.19.3", { deviceListStrategy: "cdi-annotations" }) },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "cdi-annotations", nvidiaDriverRoot: "/" } },
      },
    },
  ));

test("with envvar,cdi-cri in devicePlugin.values, the stack sets the driver root to /", () =>
  expectPlan(
    { change: pluginInsteadOfOperator("0.19.3", { deviceListStrategy: "envvar,cdi-cri" }) },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "envvar,cdi-cri", nvidiaDriverRoot: "/" } },
      },
    },
  ));

test("with cdi-cri, a driver root in devicePlugin.values stays", () =>
  expectPlan(
    {
      change: pluginInsteadOfOperator("0.19.3", {
        deviceListStrategy: "cdi-cri",
        nvidiaDriverRoot: "/driver",
      }),
    },
    {
      kubernetes: {
        release: { values: { deviceListStrategy: "cdi-cri", nvidiaDriverRoot: "/driver" } },
      },
    },
  ));

test("with cdi-annotations, a driver root in devicePlugin.values stays", () =>
  expectPlan(
    {
      change: pluginInsteadOfOperator("0.19.3", {
        deviceListStrategy: "cdi-annotations",
        nvidiaDriverRoot: "/driver",
      }),
    },
    { kubernetes: { release: { values: { nvidiaDriverRoot: "/driver" } } } },
  ));

test("with envvar,cdi-cri, a driver root in devicePlugin.values stays", () =>
  expectPlan(
    {
      change: pluginInsteadOfOperator("0.19.3", {
        deviceListStrategy: "envvar,cdi-cri",
        nvidiaDriverRoot: "/driver",
      }),
    },
    { kubernetes: { release: { values: { nvidiaDriverRoot: "/driver" } } } },
  ));

test("a plugin configuration in a ConfigMap outside the stack gets a note at devicePlugin.values.config", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { values: { config: { name: "mine" } } } } },
    { someNotes: [/^devicePlugin\.values\.config: .*how many GPUs/] },
  ));

test("an external plugin's configuration in a ConfigMap gets a note at external.values", () =>
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

test("a plugin release that is in the tables gets no note", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { version: "0.18.2" } } },
    { absentNotes: [/0\.18\.2/] },
  ));

test("a plugin release between two releases of the tables gets a note", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { version: "0.18.0" } } },
    { someNotes: [/checks the chart's values against the known releases 0\.17\.4 and 0\.18\.2; /] },
  ));

test("for plugin 0.19.2, one note says that the tables lack it, and one is about InfiniBand", () =>
  expectPlan(
    { base: "aarhus-h100", change: { devicePlugin: { version: "0.19.2" } } },
    { someNotes: [/0\.19\.2.*not in this package's tables/, /0\.19\.2.*InfiniBand/] },
  ));

test("a plugin release between two releases of the tables accepts a value that one of the two has", () =>
  expectPlan(
    {
      base: "aarhus-h100",
      change: { devicePlugin: { version: "0.18.0", values: { gdrcopyEnabled: true } } },
    },
    { findings: [] },
  ));

test("a plugin that the stack takes over gets a note if its values set no runtimeClassName", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      change: { gpuOperator: null, devicePlugin: { version: "0.18.2", takeOver: "a", values: {} } },
    },
    { someNotes: [/^devicePlugin\.values\.runtimeClassName: is not set/] },
  ));

test("a plugin that the stack takes over gets no note if its values set runtimeClassName", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      change: {
        gpuOperator: null,
        devicePlugin: { version: "0.18.2", takeOver: "a", values: { runtimeClassName: "nvidia" } },
      },
    },
    { absentNotes: [/^devicePlugin\.values\.runtimeClassName: is not set/] },
  ));

test("with failRequestsGreaterThanOne: false, the plugin's configuration lets a pod request several slices", () =>
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

test("notes name two different cards in one machine and a Node Feature Discovery outside the stack", () =>
  expectPlan(
    { base: "own-discovery" },
    {
      kubernetes: { release: { repository: "https://charts.example.org/nvidia" } },
      someNotes: [/any card of the machine \(/, /another Node Feature Discovery/],
    },
  ));
