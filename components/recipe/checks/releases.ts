import { wayBetween } from "../effect/hops";
import { eraOf, firstMinorOf, knownMinors } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { factsOf } from "../machine/apart";
import { readContract } from "../facts/contract";
import { didYouMean, shown } from "../rules";
import { type Checks, type Found, ofMachines, together } from "./check";
import * as semver from "semver";

/** Releases of Talos and Kubernetes, and the steps between them. */
export const releaseChecks = {
  "talos-version": {
    rule: "The drivers of the Talos version are known",
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
          why: "drivers, extensions and images follow from it",
          remedy: "write one like `v1.12.6`",
        };
      if (factsOf(spec, spec.talosVersion)?.missing)
        return {
          field,
          problem: `the Image Factory has no release ${spec.talosVersion}`,
          why: "it makes the machines' image, so no machine could pull it",
          remedy: "take a release that it lists at /versions",
        };
      if (!release)
        return {
          field,
          problem: `Talos 1.${version.minor} is not in the tables (they have ${minors[0]!} to ${minors.at(-1)!})`,
          why: "the package would have to guess its drivers, and how pods get GPUs there",
          remedy:
            "take a release of a known minor, or add the minor to the tables (recipe/facts/data/talos-releases.json)",
        };
      if (version.prerelease && !ofTalos.test(version.text) && spec.factoryUrl === undefined)
        return {
          field,
          problem: `"${spec.talosVersion}" is not a release name`,
          why: "Talos' own are called alpha, beta and rc with a number, and the public Image Factory has no others",
          remedy: "write a release, or name the Image Factory that has this build (factoryUrl)",
        };
      if (version.text === spec.talosVersion) return [];
      return {
        field,
        problem: `"${spec.talosVersion}" lacks the leading v`,
        why: "installer images and machines name releases with a leading v, so the wanted and the running release would never compare as equal",
        remedy: `write ${version.text}`,
      };
    },
  },
  "machine-release": {
    rule: "All machines offer GPUs in the same way: all before Talos 1.13, all on 1.13 and 1.14, or all from 1.15 on",
    source:
      "siderolabs/docs, NVIDIA GPU at Talos 1.12, 1.13 and 1.15: where the driver's libraries are, and who brings toolkit and RuntimeClass, changes there",
    ofFiles: true,
    find: ofMachines((machine, { spec, plan }) => {
      const own = machine.spec.talosVersion;
      if (own === undefined || !parseTalosVersion(own) || !parseTalosVersion(spec.talosVersion))
        return [];
      if (eraOf(own) === plan.era) return [];
      const first = `1.${Math.max(firstMinorOf(eraOf(own)), firstMinorOf(plan.era))}`;
      return {
        field: ".talosVersion",
        problem: `is ${own} in a cluster of ${spec.talosVersion}`,
        why: `from ${first} on pods get GPUs in another way, and the cluster has one operator or plugin for all machines`,
        remedy: `take a release on the same side of ${first}, or upgrade all machines together (docs/operations.md#upgrades)`,
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
          why: "the machine configuration names its images",
          remedy: "write one like `v1.35.0`",
        };
      const range = release?.minor.kubernetes;
      if (
        !range ||
        (version.major === 1 && range.from <= version.minor && version.minor <= range.to)
      )
        return [];
      return {
        field,
        problem: `Kubernetes ${version.major}.${version.minor} does not run on Talos 1.${release.minor.minor} (it takes 1.${range.from} to 1.${range.to})`,
        why: "Talos refuses the configuration, or the kubelet it starts is untested there",
        remedy: `take a release from 1.${range.from} to 1.${range.to}`,
      };
    },
  },
  "upgrade-step": {
    rule: "An upgrade never goes back, and over several minor releases only where it can go by each",
    source: "siderolabs/docs, upgrading-talos: by the last patch release of each minor between",
    ofFiles: false,
    find: ofMachines((machine, { spec }) => {
      const target = parseTalosVersion(spec.talosVersion);
      const text = machine.spec.runningVersion;
      if (!target || text === undefined) return [];
      const field = ".runningVersion";
      const running = parseTalosVersion(text);
      if (!running)
        return {
          field,
          problem: `"${text}" is not a Talos version`,
          why: "the step to the wanted release is unknown",
          remedy: "write what `talosctl version` prints, or leave it out",
        };
      if (running.text !== text)
        return {
          field,
          problem: `"${text}" lacks the leading v`,
          why: "machines report their release with the v, so a preview would announce an upgrade to the release that already runs",
          remedy: `write ${running.text}`,
        };
      const byOmni = machine.spec.configuration === "omni";
      // Patch releases of a cluster of Omni's are Omni's to change, in either direction; our program does not do it.
      if (byOmni && running.minor === target.minor) return [];
      const { extensions, ownImage } = machine.recipe;
      const kubernetes =
        machine.spec.configuration === "owned" ? spec.kubernetesVersion : undefined;
      const basis = { extensions, ownImage, kubernetes, byOmni };
      const { fault } = wayBetween(running.text, target.text, basis);
      return fault ? { field, ...fault } : [];
    }),
  },
  "version-contract": {
    rule: "The versionContract of an owned machine is a Talos version, and not newer than the machine's",
    source: "talos, pkg/machinery/config/contract.go; siderolabs/terraform-provider-talos#401",
    ofFiles: false,
    find: ofMachines(
      ({ spec: { versionContract: said, configuration }, recipe: { talosVersion } }) => {
        if (said === undefined || configuration !== "owned") return [];
        const contract = readContract(said);
        if (contract === undefined)
          return {
            field: ".versionContract",
            problem: `${shown(said)} is no Talos version`,
            why: "the contract is the release whose defaults the generated configuration has",
            remedy: "write its minor, e.g. `v1.12`",
          };
        const [wanted, generated] = [parseTalosVersion(talosVersion), parseTalosVersion(contract)];
        const isNewer =
          wanted !== undefined && generated !== undefined && generated.minor > wanted.minor;
        return (
          isNewer && {
            field: ".versionContract",
            problem: `${said} is newer than Talos ${talosVersion}, which the machine is to run`,
            why: "it would refuse documents that it does not know",
            remedy: "write the release that created the cluster, at most that of talosVersion",
          }
        );
      },
    ),
  },
  "upgrade-first": {
    rule: "upgrade.first names only workers with a GPU, each once",
    source:
      "components/recipe/machine/order.ts: control planes come first in any case, and a smoke test runs on a GPU",
    ofFiles: true,
    find: ({ spec, machines }) => {
      const first = spec.upgrade?.first ?? [];
      return first.flatMap((name, index): Found => {
        const field = `upgrade.first[${index}]`;
        const machine = machines.find((one) => one.name === name);
        if (machine === undefined) {
          const able = machines.filter(
            ({ spec: { role }, gpuCount }) => role === "worker" && gpuCount > 0,
          );
          const names = able.map((worker) => worker.name);
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
            why: "control planes go one at a time before all workers, whatever is named here",
            remedy: "name a worker with a GPU, or leave upgrade.first out",
          };
        if (machine.gpuCount === 0)
          return {
            field,
            problem: `${shown(name)} has no GPU`,
            why: "the other workers wait for its smoke test, which runs on a GPU",
            remedy: "name a worker with a GPU",
          };
        return (
          first.indexOf(name) < index && {
            field,
            problem: `${shown(name)} is named twice`,
            why: "a machine is upgraded once",
            remedy: "leave one of the two out",
          }
        );
      });
    },
  },
  "may-be-away": {
    rule: "Only a worker has mayBeAway, and only such a machine is named in away",
    source:
      "components/program/upgrade/control-planes.ts: every member of etcd has to be healthy before a control plane is upgraded",
    ofFiles: true,
    find: together(
      ofMachines(
        ({ spec: { mayBeAway, role } }) =>
          mayBeAway === true &&
          role === "controlplane" && {
            field: ".mayBeAway",
            problem: "is true of a control plane",
            why: "while it is away, etcd has one member less, and the update upgrades no other control plane",
            remedy: "leave it out, or make the machine a worker",
          },
      ),
      ({ spec, machines }) => {
        const able = machines.flatMap((machine) =>
          machine.spec.mayBeAway === true ? [machine.name] : [],
        );
        return spec.away?.map(
          (name, index) =>
            !able.includes(name) && {
              field: `away[${index}]`,
              problem: `${shown(name)} is not a machine that may be away`,
              why: "an update skips the machines of this list, so a missing machine would go unnoticed",
              remedy: `${didYouMean(name, able)}set machines.<name>.mayBeAway: true, or take it out`,
            },
        );
      },
    ),
  },
} satisfies Checks;

/** Names of Talos' releases (siderolabs/talos, tags). */
const ofTalos = /^v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?$/;
