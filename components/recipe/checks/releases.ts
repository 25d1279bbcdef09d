import { upgradePath } from "../effect/hops";
import { injectionOf, firstMinorOf, knownMinors } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { factsOf } from "../machine/apart";
import { upgradeStages } from "../machine/order";
import { readContract } from "../facts/contract";
import { didYouMean, shown } from "../rules";
import { type Checks, type Found, findPerMachine, combine } from "./check";
import * as semver from "semver";

/** Checks of the Talos and Kubernetes releases, and of the steps between them. */
export const releaseChecks = {
  "talos-version": {
    rule: "talosVersion begins with v, the Image Factory has this version, and this package knows the drivers of this version",
    source:
      "siderolabs/extensions, nvidia-gpu/vars.yaml at each release; image-factory, docs/api.md (versions are written with their `v`)",
    ofFiles: true,
    find: ({ spec, release }) => {
      const version = parseTalosVersion(spec.talosVersion);
      const minors = knownMinors();
      const field = "talosVersion";
      if (!version)
        return {
          field,
          problem: `"${spec.talosVersion}" is not a Talos version`,
          why: "the package chooses drivers, extensions and images by this version",
          remedy: "write a version such as `v1.12.6`",
        };
      if (factsOf(spec, spec.talosVersion)?.missing)
        return {
          field,
          problem: `the Image Factory has no Talos version ${spec.talosVersion}`,
          why: "the Image Factory makes the machines' installer images, so no machine could pull its image",
          remedy: "use a version that the Factory lists at /versions",
        };
      if (!release)
        return {
          field,
          problem: `Talos 1.${version.minor} is not in this package's tables (known: ${minors[0]!} to ${minors.at(-1)!})`,
          why: "the package does not know the drivers of this version, or how pods get GPUs on it",
          remedy:
            "use a version with a known minor, or add the minor to the tables (recipe/facts/data/talos-releases.json)",
        };
      if (version.prerelease && !ofTalos.test(version.text) && spec.factoryUrl === undefined)
        return {
          field,
          problem: `"${spec.talosVersion}" is not an official Talos version`,
          why: "the public Image Factory has only Talos' own prereleases: alpha, beta and rc with a number",
          remedy:
            "write an official Talos version, or name the Image Factory that has this build (factoryUrl)",
          ofFiles: {
            remedy:
              "write an official Talos version, or name the Image Factory that has this build",
          },
        };
      if (version.text === spec.talosVersion) return [];
      return {
        field,
        problem: `"${spec.talosVersion}" lacks the leading v`,
        why: "machines report their version with a leading v, so the running version would never equal the wanted version",
        remedy: `write ${version.text}`,
      };
    },
  },
  "machine-release": {
    rule: "On all machines pods get GPUs in the same way: all run Talos ≤ 1.12, all run 1.13 or 1.14, or all run ≥ 1.15",
    source:
      "siderolabs/docs, NVIDIA GPU at Talos 1.12, 1.13 and 1.15: these releases change the folder of the driver's libraries, and the owner of toolkit and RuntimeClass",
    ofFiles: true,
    find: findPerMachine((machine, { spec, plan }) => {
      const machineRelease = machine.spec.talosVersion;
      if (
        machineRelease === undefined ||
        !parseTalosVersion(machineRelease) ||
        !parseTalosVersion(spec.talosVersion)
      )
        return [];
      if (injectionOf(machineRelease) === plan.injection) return [];
      const first = `1.${Math.max(firstMinorOf(injectionOf(machineRelease)), firstMinorOf(plan.injection))}`;
      return {
        field: ".talosVersion",
        problem: `is ${machineRelease}, but the stack's Talos version is ${spec.talosVersion}`,
        why: `from Talos ${first} on pods get GPUs in another way, and the cluster has only one GPU provider, which cannot support both ways`,
        remedy: `use only versions before ${first} or only ${first} and newer, or upgrade all machines together (docs/operations.md#upgrades)`,
      };
    }),
  },
  "kubernetes-version": {
    rule: "The Talos version supports the Kubernetes release",
    source: "talos v1.14.0-rc.1, pkg/machinery/compatibility",
    ofFiles: true,
    find: ({ spec, release }) => {
      if (spec.kubernetesVersion === undefined) return [];
      const field = "kubernetesVersion";
      const version = semver.parse(spec.kubernetesVersion);
      if (
        !version ||
        !/^v?\d/.test(spec.kubernetesVersion) ||
        spec.kubernetesVersion !== spec.kubernetesVersion.trim()
      )
        return {
          field,
          problem: `"${spec.kubernetesVersion}" is not a version`,
          why: "the machine configuration names the images of this release",
          remedy: "write a version such as `v1.35.0`",
        };
      const range = release?.minor.kubernetes;
      if (
        !range ||
        (version.major === 1 && range.from <= version.minor && version.minor <= range.to)
      )
        return [];
      return {
        field,
        problem: `Kubernetes ${version.major}.${version.minor} does not run on Talos 1.${release.minor.minor} (which supports 1.${range.from} to 1.${range.to})`,
        why: "Talos refuses the configuration, or starts a kubelet that was not tested with this Talos version",
        remedy: `use a release from 1.${range.from} to 1.${range.to}`,
      };
    },
  },
  "upgrade-step": {
    rule: "No machine's runningVersion is newer than talosVersion, and the update can upgrade each machine through every minor in between",
    source:
      "siderolabs/docs, upgrading-talos (through the last patch release of each minor in between)",
    ofFiles: false,
    find: findPerMachine((machine, { spec }) => {
      const target = parseTalosVersion(spec.talosVersion);
      const text = machine.spec.runningVersion;
      if (!target || text === undefined) return [];
      const field = ".runningVersion";
      const running = parseTalosVersion(text);
      if (!running)
        return {
          field,
          problem: `"${text}" is not a Talos version`,
          why: "the checks need the running version to check the upgrade",
          remedy: "write the version that `talosctl version` prints, or leave it out",
        };
      if (running.text !== text)
        return {
          field,
          problem: `"${text}" lacks the leading v`,
          why: "machines report their version with a leading v, so a preview would show an upgrade to the version that already runs",
          remedy: `write ${running.text}`,
        };
      const byOmni = machine.spec.configuration === "omni";
      // Only Omni changes the patch release of its clusters, to newer or older ones. Our program does not.
      if (byOmni && running.minor === target.minor) return [];
      const { extensions, ownImage } = machine.recipe;
      const kubernetes =
        machine.spec.configuration === "owned" ? spec.kubernetesVersion : undefined;
      const basis = { extensions, ownImage, kubernetes, byOmni };
      const { fault } = upgradePath(running.text, target.text, basis);
      return fault ? { field, ...fault } : [];
    }),
  },
  "version-contract": {
    rule: "The versionContract of an owned machine is a Talos version, and is not newer than the machine's Talos version",
    source: "talos, pkg/machinery/config/contract.go; siderolabs/terraform-provider-talos#401",
    ofFiles: false,
    find: findPerMachine(
      ({ spec: { versionContract: statedContract, configuration }, recipe: { talosVersion } }) => {
        if (statedContract === undefined || configuration !== "owned") return [];
        const contract = readContract(statedContract);
        if (contract === undefined)
          return {
            field: ".versionContract",
            problem: `${shown(statedContract)} is not a Talos version`,
            why: "the generated configuration gets the defaults of this Talos version",
            remedy: "write a Talos version without its patch number, e.g. `v1.12`",
          };
        const [machineVersion, contractVersion] = [
          parseTalosVersion(talosVersion),
          parseTalosVersion(contract),
        ];
        const isNewer =
          machineVersion !== undefined &&
          contractVersion !== undefined &&
          contractVersion.minor > machineVersion.minor;
        return isNewer
          ? {
              field: ".versionContract",
              problem: `${statedContract} is newer than Talos ${talosVersion}, the machine's version`,
              why: `Talos ${talosVersion} would refuse a generated configuration with documents that it does not know`,
              remedy:
                "write the Talos version that created the cluster, or the machine's version if that is older",
            }
          : undefined;
      },
    ),
  },
  "upgrade-first": {
    rule: "upgrade.first names only workers with a GPU, each once, and none that is away while further workers wait for it",
    source:
      "components/recipe/machine/order.ts: control planes always come first, and a smoke test needs a GPU",
    ofFiles: true,
    find: ({ spec, machines, plan }) => {
      const first = spec.upgrade?.first ?? [];
      const othersWait = upgradeStages(plan.machines, spec.upgrade).rest.length > 0;
      return first.flatMap((name, index): Found => {
        const field = `upgrade.first[${index}]`;
        const machine = machines.find((candidate) => candidate.name === name);
        if (machine === undefined) {
          const gpuWorkers = machines.filter(
            ({ spec: { role }, gpuCount }) => role === "worker" && gpuCount > 0,
          );
          const names = gpuWorkers.map((worker) => worker.name);
          return {
            field,
            problem: `${shown(name)} is not a machine of this stack`,
            why: "the update could not upgrade it before the other workers",
            remedy: `${didYouMean(name, names)}name a worker with a GPU, by its node's name`,
          };
        }
        if (machine.spec.role === "controlplane")
          return {
            field,
            problem: `${shown(name)} is a control plane`,
            why: "the update always upgrades the control planes before all workers",
            remedy: "name a worker with a GPU, or leave upgrade.first out",
          };
        if (machine.gpuCount === 0)
          return {
            field,
            problem: `${shown(name)} has no GPU`,
            why: "the other workers would wait for its smoke test, which needs a GPU",
            remedy: "name a worker with a GPU",
          };
        if (othersWait && spec.away?.includes(name))
          return {
            field,
            problem: `${shown(name)} is away`,
            why: "the update upgrades the other workers only after the smoke test of this machine, which cannot run while the machine is off",
            remedy: "switch the machine on, or remove it from this list for this update",
          };
        return first.indexOf(name) < index
          ? {
              field,
              problem: `${shown(name)} is named twice`,
              why: "the update upgrades a machine only once",
              remedy: "remove one of the two",
            }
          : undefined;
      });
    },
  },
  "may-be-away": {
    rule: "Only workers have mayBeAway, and away lists only machines with mayBeAway",
    source:
      "components/program/upgrade/control-planes.ts: the update upgrades a control plane only if all members of etcd are healthy",
    ofFiles: true,
    find: combine(
      findPerMachine(({ spec: { mayBeAway, role } }) =>
        mayBeAway === true && role === "controlplane"
          ? {
              field: ".mayBeAway",
              problem: "is true for a control plane",
              why: "while a control plane is away, etcd lacks a member, and the update upgrades no other control plane",
              remedy: "leave it out, or make the machine a worker",
            }
          : undefined,
      ),
      ({ spec, machines }) => {
        const machinesThatMayBeAway = machines.flatMap((machine) =>
          machine.spec.mayBeAway === true ? [machine.name] : [],
        );
        return spec.away?.map((name, index) =>
          !machinesThatMayBeAway.includes(name)
            ? {
                field: `away[${index}]`,
                problem: `${shown(name)} is not a machine with mayBeAway`,
                why: "an update skips the machines of this list, so the update would not report that this machine does not answer",
                remedy: `${didYouMean(name, machinesThatMayBeAway)}set machines.<name>.mayBeAway: true, or remove the machine from this list`,
              }
            : undefined,
        );
      },
    ),
  },
} satisfies Checks;

/** Names of Talos' releases (siderolabs/talos, tags). */
const ofTalos = /^v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?$/;
