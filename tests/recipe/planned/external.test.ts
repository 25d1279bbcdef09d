import { expectPlan } from "./expect-plan";

// Settings of another tool's operator that still work for now.

test("a note lists what an external operator needs right before the upgrade to Talos 1.13", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      change: {
        gpuOperator: null,
        external: {
          kind: "gpuOperator",
          version: "v25.10.1",
          values: {
            driver: { enabled: false },
            toolkit: { enabled: false },
            cdi: { enabled: false },
          },
        },
      },
    },
    {
      someNotes: [
        /^external: .*; right before an upgrade to Talos 1\.13, change external\.version \(use v26\.3\.1 or newer\)$/,
      ],
    },
  ));

test("a note lists all that an external operator needs right before the upgrade to Talos 1.15", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      talosVersion: "v1.14.6",
      change: {
        gpuOperator: null,
        external: {
          kind: "gpuOperator",
          version: "v26.3.3",
          values: { driver: { enabled: false }, toolkit: { enabled: false } },
        },
      },
    },
    {
      someNotes: [
        /^external: .*; right before an upgrade to Talos 1\.15, change .*installDir \(write .*v26\.7\.0 or newer\), .*enabled \(leave it out\)$/,
      ],
    },
  ));

test("with an external device plugin, a note lists the GPU providers that run on Talos 1.15", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      talosVersion: "v1.14.6",
      change: { gpuOperator: null, external: { kind: "devicePlugin", version: "0.19.3" } },
    },
    {
      someNotes: [
        /^external: .*; right before an upgrade to Talos 1\.15, change .*use dra or gpuOperator \(v26\.7\.0 or newer\), which install nvidia-cdi-hook, /,
      ],
    },
  ));

test("an external operator that is too old for Talos 1.13 is refused on Talos 1.13", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      talosVersion: "v1.13.0",
      change: {
        gpuOperator: null,
        external: {
          kind: "gpuOperator",
          version: "v25.10.1",
          values: {
            driver: { enabled: false },
            toolkit: { enabled: false },
            cdi: { enabled: false },
          },
        },
      },
    },
    { findings: [/^operator-version external\.version: /] },
  ));
