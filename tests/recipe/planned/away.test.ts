import type { DevicePluginSpec } from "../../../components/recipe";
import { expectPlan } from "./expect-plan";

// A pod on a node that is off stops a rollout with the charts' default of one unavailable pod.

const rollout = (maxUnavailable: number | string) => ({
  type: "RollingUpdate" as const,
  rollingUpdate: { maxUnavailable },
});

/** The first machine may be away, and the device plugin takes the operator's place. */
const withPlugin = (devicePlugin: DevicePluginSpec) => ({
  talosVersion: "v1.12.6",
  machine: { mayBeAway: true },
  change: { gpuOperator: null, devicePlugin },
});

test("with a machine that may be away, the device plugin's chart allows two unavailable pods", () =>
  expectPlan(withPlugin({ version: "0.20.0", values: { gfd: { enabled: true } } }), {
    kubernetes: {
      // The pods of the stack's own DaemonSets are replaced at once, on a machine that is off as well.
      updateStrategy: rollout(5_000),
      deletesInBackground: true,
      release: {
        values: { updateStrategy: rollout(2), nfd: { worker: { updateStrategy: rollout(2) } } },
      },
    },
  }));

test("with a machine that may be away, the operator's chart allows two unavailable pods", () =>
  expectPlan(
    { talosVersion: "v1.12.6", machine: { mayBeAway: true } },
    {
      kubernetes: {
        release: {
          values: {
            daemonsets: { rollingUpdate: { maxUnavailable: "2" } },
            "node-feature-discovery": { worker: { updateStrategy: rollout(2) } },
          },
        },
      },
    },
  ));

test("with a machine that may be away, all pods of the DRA driver may be unavailable", () =>
  expectPlan(
    {
      talosVersion: "v1.13.9",
      machine: { mayBeAway: true },
      change: { gpuOperator: null, dra: { version: "0.5.0" }, kubernetesVersion: "v1.35.2" },
    },
    {
      kubernetes: {
        release: { values: { kubeletPlugin: { updateStrategy: rollout(5_000) } } },
      },
    },
  ));

test("if no machine may be away, the charts keep their update strategy", () =>
  expectPlan(
    { talosVersion: "v1.12.6" },
    {
      kubernetes: {
        updateStrategy: rollout("100%"),
        deletesInBackground: null,
        release: { values: { daemonsets: { rollingUpdate: null } } },
      },
    },
  ));

test("an update strategy in the chart values of the stack replaces the package's", () =>
  expectPlan(
    withPlugin({
      version: "0.18.2",
      values: { updateStrategy: { rollingUpdate: { maxUnavailable: "100%" } } },
    }),
    {
      kubernetes: {
        release: { values: { updateStrategy: { rollingUpdate: { maxUnavailable: "100%" } } } },
      },
    },
  ));
