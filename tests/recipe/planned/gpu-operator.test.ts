import { expectPlan } from "./expect-plan";

// What a stack has by default, on Talos 1.11 to 1.13, is in tests/fixtures/plans.

test("a release may be written without its v", () =>
  expectPlan(
    { change: { gpuOperator: { version: "26.3.3" } } },
    { kubernetes: { release: { version: "v26.3.3" } } },
  ));

test("with driver.enabled, the stack also writes the marker .driver-ctr-ready, and a warning names the field", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      change: { gpuOperator: { version: "v25.10.1", values: { driver: { enabled: true } } } },
    },
    {
      markers: ["driver-ready", "toolkit-ready", ".driver-ctr-ready"],
      findings: [/^values-without-gpus gpuOperator\.values\.driver\.enabled: /],
    },
  ));

test("values of the user override ours, and a variable adds to ours", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      change: {
        gpuOperator: {
          version: "v25.10.1",
          values: {
            devicePlugin: { env: [{ name: "DP_DISABLE_HEALTHCHECKS", value: "109" }] },
            dcgmExporter: { enabled: false },
            migManager: { enabled: true },
          },
        },
      },
    },
    {
      kubernetes: {
        release: {
          values: {
            devicePlugin: {
              env: [
                { name: "DEVICE_LIST_STRATEGY", value: "envvar" },
                { name: "DP_DISABLE_HEALTHCHECKS", value: "109" },
              ],
            },
            dcgmExporter: { enabled: false },
            migManager: { enabled: true },
          },
        },
      },
    },
  ));

test("a variable of the user replaces ours", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      change: {
        gpuOperator: {
          version: "v25.10.1",
          values: {
            devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "volume-mounts" }] },
          },
        },
      },
    },
    {
      kubernetes: {
        release: {
          values: {
            devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "volume-mounts" }] },
          },
        },
      },
    },
  ));

test("a release and a value that the tables do not know get a note", () =>
  expectPlan(
    { change: { gpuOperator: { version: "v99.9.0", values: { cardDoctor: { enabled: false } } } } },
    {
      someNotes: [
        /^gpuOperator\.values\.cardDoctor: it is unknown whether gpu-operator v99\.9\.0 has this value/,
      ],
    },
  ));

test("a driver folder that Talos does not have gets a note", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      change: {
        gpuOperator: {
          version: "v25.10.1",
          values: { hostPaths: { driverInstallDir: "/var/nvidia-driver" } },
        },
      },
    },
    { someNotes: [/driverInstallDir/] },
  ));

test("Talos' own driver folder gets no note", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      change: {
        gpuOperator: {
          version: "v25.10.1",
          values: { hostPaths: { driverInstallDir: "/usr/local" } },
        },
      },
    },
    { noNote: [/driverInstallDir/] },
  ));

test("a Node Feature Discovery of the user gets a note", () =>
  expectPlan(
    { base: "rtx5070ti", change: { gpuOperator: { values: { nfd: { enabled: false } } } } },
    { someNotes: [/another Node Feature/] },
  ));

test("a Node Feature Discovery of the user gets no note if the machines have its label", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      machine: { labels: { "feature.node.kubernetes.io/pci-10de.present": "true" } },
      change: { gpuOperator: { values: { nfd: { enabled: false } } } },
    },
    { noNote: [/another Node Feature/] },
  ));

test("a strategy without CDI, which the next operator refuses, gets a note", () =>
  expectPlan(
    {
      talosVersion: "v1.12.6",
      change: {
        gpuOperator: {
          version: "v26.3.3",
          values: { devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "envvar" }] } },
        },
      },
    },
    { notes: [/the next release of the GPU Operator refuses this/] },
  ));

test("Talos 1.13 without the operator's CDI gets a note", () =>
  expectPlan(
    { base: "cdi-off-on-1.13" },
    { notes: [/^gpuOperator\.values\.cdi\.enabled: is false; .* `runtimeClassName: nvidia`/] },
  ));
