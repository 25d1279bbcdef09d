import { eraOf, firstMinorOf } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { externalOf } from "../external/external";
import type { CheckContext, Checks, Found } from "./check";

/**
 * Checks of an update's conditions: releases that are known only in part, machines that are away, and the step from
 * one era to the next.
 */
export const updateChecks = {
  "release-drivers": {
    severity: "note",
    rule: "The tables list the drivers of the Talos version",
    source:
      "siderolabs/extensions, nvidia-gpu/vars.yaml at each release; image-factory, docs/api.md",
    ofFiles: false,
    find: ({ release }) => {
      const { beyondTables, drivers, version } = release ?? {};
      if (beyondTables === undefined || drivers === undefined) return [];
      const { inferred, answered, silent, like } = beyondTables;
      const { lts, production, toolkit } = drivers;
      const problem = inferred
        ? `${version!.text} is in the tables by inference`
        : `${version!.text} is newer than the tables`;
      if (answered)
        return {
          field: "talosVersion",
          problem,
          why: `the Image Factory says that it brings drivers ${lts} (lts) and ${production} (production)${toolkit === undefined ? "" : `, toolkit ${toolkit}`}`,
          remedy: "nothing needs to be done",
        };
      const why =
        silent === undefined ? "" : `, because the Image Factory says nothing (${silent})`;
      return {
        field: "talosVersion",
        problem,
        why: `drivers ${inferred ? "" : `of ${like} `}are assumed (${lts}, ${production})${why}, so only the branch of a machine's driver is verified`,
        remedy: "take a release of the tables to have the driver itself verified",
      };
    },
  },
  "boot-medium": {
    severity: "warning",
    rule: "The Talos provider can install from the boot medium of the machines",
    source:
      "talos v1.12.6, internal/app/maintenance/server.go (ApplyConfiguration); talos v1.13.0, internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go; terraform-provider-talos v0.11.0, pkg/talos/talos_machine_configuration_apply_resource.go (dryRunNeedsReboot)",
    ofFiles: false,
    find: ({ plan: { spec } }) => {
      const isOlder = (text: string): boolean =>
        (parseTalosVersion(text)?.minor ?? firstInstalling) < firstInstalling;
      const names = Object.keys(spec.machines).filter((name) =>
        isOlder(spec.machines[name]!.talosVersion ?? spec.talosVersion),
      );
      // Which medium the machines wait in is not in the stack; mostly it is of the release that they install.
      return (
        spec.bootstrap === true &&
        names.length > 0 && {
          field: "bootstrap",
          problem: `${names.join(", ")} will run Talos older than 1.${firstInstalling}, and may wait in a boot medium of that release`,
          why: `from a boot medium older than Talos 1.${firstInstalling} the Talos provider cannot install, and tries until its time is over`,
          remedy: `start them from a boot medium of Talos 1.${firstInstalling} or newer, whatever release the stack installs`,
        }
      );
    },
  },
  "machine-away": {
    severity: "warning",
    rule: "No machine is away during an update",
    source: "components/lookups/machines-away.ts: an update leaves such a machine alone",
    ofFiles: false,
    find: ({ spec: { away = [] } }) =>
      away.length > 0 && {
        field: "machines",
        problem: `${away.join(", ")}: away`,
        why: "this update leaves a machine that is away as the last one left it",
        remedy: "bring the stack up again once it is back",
      },
  },
  "era-crossing": {
    severity: "warning",
    rule: "No machine crosses Talos 1.13 or 1.15 in this update, where pods get GPUs in another way",
    source: "siderolabs/docs, upgrading-talos at 1.13 (before upgrade)",
    ofFiles: false,
    find: ({ plan: { spec } }) => {
      const first = firstMinorOf(eraOf(spec.talosVersion));
      const crossing = Object.entries(spec.machines).flatMap(([name, { runningVersion = "" }]) =>
        (parseTalosVersion(runningVersion)?.minor ?? first) < first ? [name] : [],
      );
      if (crossing.length === 0) return [];
      const found = {
        field: "machines",
        problem: `${crossing.join(", ")} will go from Talos ≤ 1.${first - 1} to ≥ 1.${first}`,
      };
      const outside = externalOf(spec);
      if (outside !== undefined)
        return {
          ...found,
          why: "between the change of the values and its upgrade, a machine gives no GPU to new pods",
          remedy: `let ${outside.by ?? "its installer"} apply the values for the newer Talos right before this update; external is checked by them`,
        };
      return {
        ...found,
        why: spec.upgrade?.first?.length
          ? "no new pod gets a GPU on a machine until it is upgraded, and until the machines of upgrade.first are upgraded"
          : "no new pod gets a GPU until the last machine is upgraded",
        remedy:
          'first remove what the stack did not make: a release of the device plugin, or a RuntimeClass "nvidia" (docs/operations.md#upgrades)',
      };
    },
  },
  "next-era": {
    severity: "note",
    rule: "The values of the external release also fit the Talos version where pods next get GPUs in another way",
    source: "every check of an external release, asked for the first Talos of that era",
    ofFiles: false,
    find: nextEra,
  },
} satisfies Checks;

/**
 * First minor release of a boot medium that the Talos provider installs from: it asks by a dry run whether the
 * configuration reboots the machine. Before, the answer leaves the mode out, which reads as a reboot; the provider
 * then stages, which that mode refuses.
 */
const firstInstalling = 13;

/** Changes that an external release needs before Talos of the next era. */
function nextEra({ ahead }: CheckContext): Found {
  const { minor, findings } = ahead() ?? { findings: [] };
  const changes = findings.map(({ field, remedy }) => `${field}: ${remedy}`);
  return (
    minor !== undefined &&
    changes.length > 0 && {
      field: "external",
      problem: `does not fit Talos 1.${minor} yet`,
      why: "a stack with that release would be refused",
      remedy: `right before an upgrade to Talos 1.${minor}: ${changes.join("; ")}`,
    }
  );
}
