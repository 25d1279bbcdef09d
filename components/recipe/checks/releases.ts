import { upgradePathFault } from "../effect/faults";
import { eraOf, firstMinorOf, knownMinors } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { factsOf } from "../machine/apart";
import { shown } from "../rules";
import { didYouMean } from "../rules/suggest";
import { type Checks, type Found, ofMachines, together } from "./check";
import * as semver from "semver";

/** Releases of Talos and Kubernetes, and the steps between them. */
export const releaseChecks: Checks = {
  /**
   * Talos' release is one whose drivers are known. Source: siderolabs/extensions, nvidia-gpu/vars.yaml at each release; image-factory,
   * docs/api.md (versions are written with their `v`).
   */
  "talos-version": ({ spec, release }) => {
    const version = parseTalosVersion(spec.talosVersion);
    const minors = knownMinors();
    const field = "talosVersion";
    if (!version)
      return {
        field,
        problem: `"${spec.talosVersion}" is not a release of Talos`,
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
        problem: `Talos 1.${version.minor} is not known here (known: ${minors[0]} to ${minors.at(-1)})`,
        why: "which drivers it brings and how it exposes them would be guessed",
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
  /**
   * All machines are of one era. Source: siderolabs/docs, NVIDIA GPU at Talos 1.12, 1.13 and 1.15: where the driver's libraries are, and who
   * brings toolkit and RuntimeClass, changes there.
   */
  "machine-release": ofMachines((machine, { spec, plan }) => {
    const own = machine.spec.talosVersion;
    if (own === undefined || !parseTalosVersion(own) || !parseTalosVersion(spec.talosVersion)) return [];
    if (eraOf(own) === plan.era) return [];
    const first = `1.${Math.max(firstMinorOf(eraOf(own)), firstMinorOf(plan.era))}`;
    return {
      field: ".talosVersion",
      problem: `is ${own} in a cluster of ${spec.talosVersion}`,
      why: `from ${first} on pods get GPUs in another way, and the cluster has one operator or plugin for all machines`,
      remedy: `take a release on the same side of ${first}, or upgrade all machines together (docs/migration.md)`,
    };
  }),
  /** Kubernetes' release is one that this Talos release runs. Source: talos v1.14.0-rc.1, pkg/machinery/compatibility. */
  "kubernetes-version": ({ spec, release }) => {
    if (spec.kubernetesVersion === undefined) return [];
    const field = "kubernetesVersion";
    const version = semver.parse(spec.kubernetesVersion);
    if (!version || !/^v?\d/.test(spec.kubernetesVersion) || spec.kubernetesVersion !== spec.kubernetesVersion.trim())
      return {
        field,
        problem: `"${spec.kubernetesVersion}" is not a version`,
        why: "the machine configuration names its images",
        remedy: "write one like `v1.35.0`",
      };
    const range = release?.minor.kubernetes;
    if (!range || (version.major === 1 && range.from <= version.minor && version.minor <= range.to)) return [];
    return {
      field,
      problem: `Kubernetes ${version.major}.${version.minor} does not run on Talos 1.${release.minor.minor} (it takes 1.${range.from} to 1.${range.to})`,
      why: "Talos refuses the configuration, or the kubelet it starts is untested there",
      remedy: `take a release from 1.${range.from} to 1.${range.to}`,
    };
  },
  /**
   * The upgrade is one minor forward at most, and never back: by the rule that the program applies to the machine. Source:
   * siderolabs/docs, upgrading-talos: one minor at a time.
   */
  "upgrade-step": ofMachines((machine, { spec }) => {
    const target = parseTalosVersion(spec.talosVersion);
    const text = machine.spec.runningVersion;
    if (!target || text === undefined) return [];
    const field = ".runningVersion";
    const running = parseTalosVersion(text);
    if (!running)
      return {
        field,
        problem: `"${text}" is not a release of Talos`,
        why: "the step to the wanted release cannot be told",
        remedy: "write what `talosctl version` prints, or leave it out",
      };
    if (running.text !== text)
      return {
        field,
        problem: `"${text}" lacks the leading v`,
        why: "machines report their release with the v, so a preview would announce an upgrade to the release that already runs",
        remedy: `write ${running.text}`,
      };
    const fault = upgradePathFault(running.text, target.text);
    // Patch releases of a cluster of Omni's are Omni's to change, in either direction; our program does not do it.
    const isOmnis = machine.spec.configuration === "omni" && running.minor === target.minor;
    return fault && !isOmnis ? { field, ...fault } : [];
  }),
  /**
   * Machines that go ahead are workers with a GPU. Source: components/recipe/machine/order.ts: control planes come first in any case, and
   * a smoke test runs on a GPU.
   */
  "upgrade-first": ({ spec, machines }) => {
    const first = spec.upgrade?.first ?? [];
    return first.flatMap((name, index): Found => {
      const complain = (problem: string, why: string, remedy: string): Found => ({
        field: `upgrade.first[${index}]`,
        problem: `${shown(name)} ${problem}`,
        why,
        remedy,
      });
      const machine = machines.find((one) => one.name === name);
      if (machine === undefined) {
        const workers = machines.filter(({ spec: { role }, gpuCount }) => role === "worker" && gpuCount > 0);
        return complain(
          "is not a machine of this stack",
          "nothing would go ahead of the others",
          `${didYouMean(
            name,
            workers.map((worker) => worker.name),
          )}name a worker with a GPU, by its node's name`,
        );
      }
      if (machine.spec.role === "controlplane")
        return complain(
          "is a control plane",
          "control planes go one at a time before all workers, whatever is named here",
          "name a worker with a GPU, or leave upgrade.first out",
        );
      if (machine.gpuCount === 0)
        return complain(
          "has no GPU",
          "the other workers wait for its smoke test, which runs on a GPU",
          "name a worker with a GPU",
        );
      if (first.indexOf(name) < index)
        return complain("is named twice", "it goes ahead once", "leave one of the two out");
      return [];
    });
  },
  /**
   * A machine that may be away is a worker, and one that is away may be. Source: components/machine/program/upgrade/control-planes.ts:
   * every member of etcd has to be healthy before a control plane is upgraded.
   */
  "may-be-away": together(
    ofMachines(
      ({ spec: { mayBeAway, role } }) =>
        mayBeAway === true &&
        role === "controlplane" && {
          field: ".mayBeAway",
          problem: "is true of a control plane",
          why: "its member of etcd is missed as soon as it is away, and no other control plane is upgraded meanwhile",
          remedy: "leave it out, or make the machine a worker",
        },
    ),
    ({ spec, machines }) => {
      const able = machines.flatMap((machine) => (machine.spec.mayBeAway === true ? [machine.name] : []));
      return spec.away?.map(
        (name, index) =>
          !able.includes(name) && {
            field: `away[${index}]`,
            problem: `${JSON.stringify(name)} is not a machine that may be away`,
            why: "an update leaves alone what it names, and nobody would see that a machine is missed",
            remedy: `${didYouMean(name, able)}set machines.<name>.mayBeAway: true, or take it out`,
          },
      );
    },
  ),
};

/** Names of Talos' releases (siderolabs/talos, tags). */
const ofTalos = /^v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?$/;
