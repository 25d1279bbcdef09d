import * as semver from "semver";
import { contractMinor, contractOf } from "../facts/contract";
import { contract as contracts } from "../facts/data/since.json";
import { listOf, valueAt } from "../mapping";
import { type Checks, findPerMachine } from "./check";

/**
 * Checks of version contracts. A version contract is the Talos version for which the stack generates a machine's
 * configuration.
 */
export const contractChecks = {
  "contract-pinned": {
    severity: "warning",
    rule: "Every machine with `configuration: owned` sets versionContract",
    source: "siderolabs/terraform-provider-talos#401; siderolabs/talos#13885",
    ofFiles: false,
    find: ({ plan: { spec } }) => {
      const unpinned = new Map<string, string[]>();
      for (const [name, machine] of Object.entries(spec.machines)) {
        const { configuration, talosVersion = spec.talosVersion, versionContract } = machine;
        if (configuration !== "owned" || versionContract !== undefined) continue;
        const contract = contractMinor(contractOf({ ...machine, talosVersion }));
        unpinned.set(contract, [...(unpinned.get(contract) ?? []), name]);
      }
      return [...unpinned].map(([contract, names]) => ({
        field: "machineDefaults.versionContract",
        problem: `is not set for ${names.join(", ")}, whose configuration the stack generates for Talos ${contract}`,
        why: "a preview with the next minor version of Talos fails until versionContract is set",
        remedy: `write \`versionContract: ${contract}\` under machineDefaults or at each machine, and keep this value after upgrades`,
      }));
    },
  },
  "contract-owner": {
    severity: "warning",
    rule: "Only a machine with `configuration: owned` sets versionContract",
    source:
      "components/machine/configuration.ts: the field `configuration` decides which tool generates the configuration",
    ofFiles: false,
    find: ({ spec }) =>
      Object.entries(spec.machines).map(([name, { configuration, versionContract }]) =>
        configuration !== "owned" && versionContract !== undefined
          ? {
              field: `machines.${name}.versionContract`,
              problem: `has no effect on a machine whose configuration is ${configuration}`,
              why: "another tool generates this machine's configuration",
              remedy: "leave it out",
            }
          : undefined,
      ),
  },
  "contract-args": {
    rule: "No patch adds machine.install.extraKernelArgs to a generated configuration that takes the image's arguments",
    source:
      "talos v1.13.0, types/v1alpha1/v1alpha1_validation.go: extraKernelArgs and grubUseUKICmdline can't be used together; cmd/installer/cmd/installer/install.go checks this at each installation; seen on Talos v1.13.0",
    ofFiles: false,
    find: findPerMachine(({ spec, patches }, { spec: { talosVersion: ofStack } }) => {
      const { configuration, platform = "metal", talosVersion = ofStack } = spec;
      const contract = contractOf({ ...spec, talosVersion });
      const takesImageArgs =
        semver.valid(contract) !== null && semver.gte(contract, contracts.documentsFrom);
      // The installer checks this only on metal.
      if (configuration !== "owned" || platform !== "metal" || !takesImageArgs) return undefined;
      const valuesOf = (key: string): unknown[] =>
        patches.map(({ config }) => valueAt(config, "machine", "install", key));
      if (valuesOf("grubUseUKICmdline").includes(false)) return undefined;
      const args = valuesOf("extraKernelArgs").flatMap(listOf).map(String);
      return args.length === 0
        ? undefined
        : {
            field: ".patches",
            problem: `set machine.install.extraKernelArgs, but the configuration that Talos generates for ${contractMinor(contract)} also sets machine.install.grubUseUKICmdline`,
            why: "Talos' installer refuses a configuration with both, so every upgrade of the machine would fail",
            remedy: `write the arguments under kernelArgs: ${JSON.stringify(args)}. If the machine boots with GRUB, and the arguments should stay in the configuration, also set grubUseUKICmdline: false in the patch`,
          };
    }),
  },
} satisfies Checks;
