import { expectPlan } from "./expect-plan";

// tests/fixtures/plans has the defaults of a stack on Talos 1.11 to 1.13.

test("an operator release without a leading v gets one in the plan", () =>
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

test("gpuOperator.values override the stack's values, and their variables are added to the stack's", () =>
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

test("a variable in gpuOperator.values replaces the stack's variable of the same name", () =>
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

test("a value that no table has gets a note if the operator is newer than the tables", () =>
  expectPlan(
    { change: { gpuOperator: { version: "v99.9.0", values: { cardDoctor: { enabled: false } } } } },
    {
      someNotes: [
        /^gpuOperator\.values\.cardDoctor: it is unknown whether gpu-operator v99\.9\.0 has this value/,
      ],
    },
  ));

test("a driver folder other than Talos' gets a note", () =>
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
    { absentNotes: [/driverInstallDir/] },
  ));

test("a note says that the operator needs another Node Feature Discovery if nfd.enabled is false", () =>
  expectPlan(
    { base: "rtx5070ti", change: { gpuOperator: { values: { nfd: { enabled: false } } } } },
    { someNotes: [/another Node Feature/] },
  ));

test("without the operator's Node Feature Discovery, machines that have its label get no note", () =>
  expectPlan(
    {
      base: "rtx5070ti",
      machine: { labels: { "feature.node.kubernetes.io/pci-10de.present": "true" } },
      change: { gpuOperator: { values: { nfd: { enabled: false } } } },
    },
    { absentNotes: [/another Node Feature/] },
  ));

test("a note says that the next GPU Operator refuses a deviceListStrategy of envvar", () =>
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

test("a note says what pods need if cdi.enabled is false on Talos 1.13", () =>
  expectPlan(
    { base: "cdi-off-on-1.13" },
    { notes: [/^gpuOperator\.values\.cdi\.enabled: is false; .* `runtimeClassName: nvidia`/] },
  ));
