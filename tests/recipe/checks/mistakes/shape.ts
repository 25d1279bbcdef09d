import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes of a stack's shape. */
export const shapeMistakes: Mistakes = {
  shape: [
    {
      name: "A field is misspelt",
      base: "rtx5070ti",
      change: yaml`
        talosVersion: null
        talosVerison: v1.12.6
      `,
      findings: [
        { check: "shape", field: "talosVersion", says: ["is missing", "the plan needs it"] },
        {
          check: "shape",
          field: "talosVerison",
          says: ["is not a known field", 'did you mean "talosVersion"?'],
        },
      ],
    },
    {
      name: "A field of a machine is misspelt",
      base: "rtx5070ti",
      change: yaml`
        machines:
          k8s-worker4:
            gpu: [{ model: RTX 5070 Ti }]
      `,
      findings: [
        {
          check: "shape",
          field: "machines.k8s-worker4.gpu",
          says: ["is not a known field", "the package would ignore it", 'did you mean "gpus"?'],
        },
      ],
    },
    {
      name: "YAML reads an unquoted version as a number",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { version: 0.17 }
      `,
      findings: [
        {
          check: "shape",
          field: "devicePlugin.version",
          says: ["is a number but must be text", 'quote it: "0.17"'],
        },
      ],
    },
    {
      name: "A role that does not exist",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { role: wroker } }
      `,
      findings: [
        {
          check: "shape",
          field: "machines.k8s-worker4.role",
          says: ['"wroker" is not one of controlplane, worker', 'did you mean "worker"?'],
        },
      ],
    },
    {
      name: "A machine without an address, and a mistake elsewhere: both are found",
      base: "rtx5070ti",
      change: yaml`
        machines: { k8s-worker4: { address: null } }
        driver: { branch: lst }
      `,
      findings: [
        { check: "shape", field: "machines.k8s-worker4.address", says: ["is missing"] },
        { check: "shape", field: "driver.branch", says: ['did you mean "lts"?'] },
      ],
    },
    {
      name: "A wrong type does not hide a finding of a check",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: { version: v26.3.0 }
        timeouts: { pull: "10" }
      `,
      findings: [
        { check: "shape", field: "timeouts.pull", says: ['"10" is not a duration', "e.g. `10m`"] },
        {
          check: "operator-version",
          field: "gpuOperator.version",
          says: ["does not run on Talos"],
        },
      ],
    },
    {
      name: "A wait without a unit",
      base: "aarhus-h100",
      change: yaml`
        timeouts: { gate: ten minutes }
      `,
      findings: [{ check: "shape", field: "timeouts.gate", says: ["is not a duration"] }],
    },
    {
      name: "An amount of storage that Kubernetes does not read",
      base: "rtx5070ti",
      change: yaml`
        workloads: { ollama: { storage: 100 GB } }
      `,
      findings: [
        {
          check: "shape",
          field: "workloads.ollama.storage",
          says: ["is not an amount of storage", "100Gi"],
        },
      ],
    },
    {
      name: "A switch in quotes",
      base: "rtx5070ti",
      change: yaml`
        upgrade: { drain: "false" }
      `,
      findings: [
        { check: "shape", field: "upgrade.drain", says: ["is text but must be true or false"] },
      ],
    },
    {
      name: "An upgrade of no worker at a time",
      base: "modern",
      change: yaml`
        upgrade: { maxParallel: 0 }
      `,
      findings: [{ check: "shape", field: "upgrade.maxParallel", says: ["must be at least 1"] }],
    },
    {
      name: "An upgrade of more than all workers at a time",
      base: "modern",
      change: yaml`
        upgrade: { maxParallel: 120% }
      `,
      findings: [
        {
          check: "shape",
          field: "upgrade.maxParallel",
          says: ['"120%" is not a percentage from 1% to 100%'],
        },
      ],
    },
    {
      name: "A number of workers at a time that is not a number",
      base: "modern",
      change: yaml`
        upgrade: { maxParallel: true }
      `,
      findings: [
        {
          check: "shape",
          field: "upgrade.maxParallel",
          says: ["is true or false but must be a number or text"],
        },
      ],
    },
  ],
};
