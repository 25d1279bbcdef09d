import { injectionOf, firstMinorOf } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { externalOf } from "../external/external";
import { type CheckContext, type Checks, findPerMachine, type Found } from "./check";

/**
 * Checks of an update's conditions: unknown drivers, old boot media, machines that the update cannot reach, and
 * upgrades that change how Talos injects cards.
 */
export const updateChecks = {
  "release-drivers": {
    severity: "note",
    rule: "This package's tables state the drivers of the Talos version",
    source:
      "siderolabs/extensions, nvidia-gpu/vars.yaml at each release; image-factory, docs/api.md",
    ofFiles: false,
    find: ({ release }) => {
      const { beyondTables, drivers, version } = release ?? {};
      if (beyondTables === undefined || drivers === undefined) return [];
      const { inferred, driversFromFactory, silent, like } = beyondTables;
      const { lts, production, toolkit } = drivers;
      const problem = inferred
        ? `the drivers of ${version!.text} in this package's tables are only assumptions`
        : `${version!.text} is newer than this package's tables`;
      if (driversFromFactory)
        return {
          field: "talosVersion",
          problem,
          why: `the Image Factory reports the drivers ${lts} (lts) and ${production} (production)${toolkit === undefined ? "" : `, toolkit ${toolkit}`}`,
          remedy: "nothing needs to be done",
        };
      const why =
        silent === undefined ? "" : `, because the Image Factory did not answer (${silent})`;
      return {
        field: "talosVersion",
        problem,
        why: `the package assumes the drivers ${inferred ? "" : `of ${like} `}(${lts}, ${production})${why}. The update then verifies only the branch of each driver, not its version`,
        remedy:
          "use a Talos version whose drivers these tables state, so that the update also verifies the driver's version",
      };
    },
  },
  "boot-medium": {
    severity: "warning",
    rule: "With bootstrap, no machine boots from a medium that is too old for the Talos provider",
    source:
      "talos v1.12.6, internal/app/maintenance/server.go (ApplyConfiguration); talos v1.13.0, internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go; terraform-provider-talos v0.11.0, pkg/talos/talos_machine_configuration_apply_resource.go (dryRunNeedsReboot)",
    ofFiles: false,
    find: ({ plan: { spec } }) => {
      const isOlder = (text: string): boolean =>
        (parseTalosVersion(text)?.minor ?? firstInstalling) < firstInstalling;
      const names = Object.keys(spec.machines).filter((name) =>
        isOlder(spec.machines[name]!.talosVersion ?? spec.talosVersion),
      );
      // The stack does not name the boot medium. Most users boot a medium of the release that they install.
      return spec.bootstrap === true && names.length > 0
        ? {
            field: "bootstrap",
            problem: `${names.join(", ")} will run Talos older than 1.${firstInstalling}, and may have booted from an equally old medium`,
            why: `the Talos provider cannot install from a boot medium older than Talos 1.${firstInstalling}, and tries until its timeout`,
            remedy: `boot these machines from a medium of Talos 1.${firstInstalling} or newer, even if the stack installs an older version`,
          }
        : undefined;
    },
  },
  "machine-away": {
    severity: "warning",
    rule: "No machine is away during an update",
    source: "components/lookups/machines-away.ts: an update does not change such a machine",
    ofFiles: false,
    find: ({ spec: { away = [] } }) =>
      away.length > 0
        ? {
            field: "machines",
            problem: `this update skips the machines that are away: ${away.join(", ")}`,
            why: "the update cannot reach them, so they keep their previous state",
            remedy: "run `pulumi up` again once they are back",
          }
        : undefined,
  },
  "away-unknown": {
    severity: "warning",
    rule: "A stack with bootstrap and a machine with mayBeAway sets away",
    source:
      "components/lookups/machines-away.ts (withAway): only Kubernetes reports whether a node is ready, and the kubeconfig of such a stack is an output of the update",
    ofFiles: false,
    find: findPerMachine(({ spec: { mayBeAway } }, { spec: { bootstrap, away } }) =>
      bootstrap === true && mayBeAway === true && away === undefined
        ? {
            field: ".mayBeAway",
            problem: "an update of this stack does not find out whether the machine is off",
            why: "with `bootstrap: true` no preview knows the kubeconfig, with which it could ask for the machine's node. If the machine is off, the update fails",
            remedy:
              "write the machine's name in `away` while the machine is off, and `away: []` while every machine is on",
          }
        : undefined,
    ),
  },
  "injection-change": {
    severity: "warning",
    rule: "No machine's upgrade crosses Talos 1.13 or 1.15, because each of these versions changes how pods get GPUs",
    source: "siderolabs/docs, upgrading-talos at 1.13 (before upgrade)",
    ofFiles: false,
    find: ({ plan: { spec } }) => {
      const firstMinor = firstMinorOf(injectionOf(spec.talosVersion));
      const crossing = Object.entries(spec.machines).flatMap(([name, { runningVersion = "" }]) =>
        (parseTalosVersion(runningVersion)?.minor ?? firstMinor) < firstMinor ? [name] : [],
      );
      if (crossing.length === 0) return [];
      const finding = {
        field: "machines",
        problem: `${crossing.join(", ")} will go from Talos ≤ 1.${firstMinor - 1} to ≥ 1.${firstMinor}`,
      };
      const externalProvider = externalOf(spec);
      if (externalProvider !== undefined)
        return {
          ...finding,
          why: "between the change of the values and the machine's upgrade, a machine gives no GPU to new pods",
          remedy: `right before this update, apply the values for the newer Talos with ${externalProvider.by ?? "the tool that installs the release"}, and write the same values under external`,
        };
      return {
        ...finding,
        why: spec.upgrade?.first?.length
          ? "a machine gives no GPU to new pods until the update has upgraded this machine and the machines of upgrade.first"
          : "no new pod gets a GPU until the update has upgraded the last machine",
        remedy:
          'if the cluster has a device plugin or a RuntimeClass "nvidia" that the stack did not create, remove it first (docs/operations.md#upgrades)',
      };
    },
  },
  "next-injection": {
    severity: "note",
    rule: "The values of the external release also fit the next Talos version that changes how pods get GPUs",
    source:
      "every check of an external release, run for the first Talos minor that injects devices in that way",
    ofFiles: false,
    find: nextInjection,
  },
} satisfies Checks;

/**
 * First minor release of Talos on a boot medium from which the Talos provider can install. The provider makes a dry run
 * to learn whether the configuration reboots the machine. An older Talos does not answer this question, so the provider
 * assumes a reboot and stages the configuration. Talos in maintenance mode refuses a staged configuration.
 */
export const firstInstalling = 13;

/**
 * Finding that lists the values of an external release to change before an upgrade to the next Talos version that
 * injects cards in another way.
 */
function nextInjection({ ahead }: CheckContext): Found {
  const { minor, findings } = ahead() ?? { findings: [] };
  const changes = findings.map(({ field, remedy }) => `${field} (${remedy})`);
  return minor !== undefined && changes.length > 0
    ? {
        field: "external",
        problem: `does not fit Talos 1.${minor} yet`,
        why: `the checks would refuse a stack with Talos 1.${minor}`,
        remedy: `right before an upgrade to Talos 1.${minor}, change ${changes.join(", ")}`,
      }
    : undefined;
}
