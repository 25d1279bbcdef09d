import { upgradePathFault } from "../effect/faults";
import { eraOf, firstMinorOf, knownMinors } from "../facts/talos-release";
import { parseTalosVersion } from "../facts/version";
import { factsOf } from "../machine/apart";
import { readContract } from "../facts/contract";
import { didYouMean, shown } from "../rules";
import { type Checks, complaint, type Found, ofMachines, together } from "./check";
import * as semver from "semver";

/** Releases of Talos and Kubernetes, and the steps between them. */
export const releaseChecks: Checks = {
  "talos-version": ({ spec, release }) => {
    const version = parseTalosVersion(spec.talosVersion);
    const minors = knownMinors();
    const field = "talosVersion";
    if (!version) return complaint(field, "talos-version/form", { spec });
    if (factsOf(spec, spec.talosVersion)?.missing) return complaint(field, "talos-version/factory", { spec });
    if (!release)
      return complaint(field, "talos-version/unknown", { version, oldest: minors[0], newest: minors.at(-1) });
    if (version.prerelease && !ofTalos.test(version.text) && spec.factoryUrl === undefined)
      return complaint(field, "talos-version/pre-release", { spec });
    if (version.text === spec.talosVersion) return [];
    return complaint(field, "talos-version/no-v", { spec, version });
  },
  "machine-release": ofMachines((machine, { spec, plan }) => {
    const own = machine.spec.talosVersion;
    if (own === undefined || !parseTalosVersion(own) || !parseTalosVersion(spec.talosVersion)) return [];
    if (eraOf(own) === plan.era) return [];
    const first = `1.${Math.max(firstMinorOf(eraOf(own)), firstMinorOf(plan.era))}`;
    return complaint(".talosVersion", "machine-release", { own, spec, first });
  }),
  "kubernetes-version": ({ spec, release }) => {
    if (spec.kubernetesVersion === undefined) return [];
    const field = "kubernetesVersion";
    const version = semver.parse(spec.kubernetesVersion);
    if (!version || !/^v?\d/.test(spec.kubernetesVersion) || spec.kubernetesVersion !== spec.kubernetesVersion.trim())
      return complaint(field, "kubernetes-version/form", { spec });
    const range = release?.minor.kubernetes;
    if (!range || (version.major === 1 && range.from <= version.minor && version.minor <= range.to)) return [];
    return complaint(field, "kubernetes-version/range", { version, release, range });
  },
  "upgrade-step": ofMachines((machine, { spec }) => {
    const target = parseTalosVersion(spec.talosVersion);
    const text = machine.spec.runningVersion;
    if (!target || text === undefined) return [];
    const field = ".runningVersion";
    const running = parseTalosVersion(text);
    if (!running) return complaint(field, "upgrade-step/form", { text });
    if (running.text !== text) return complaint(field, "upgrade-step/no-v", { text, running });
    const fault = upgradePathFault(running.text, target.text);
    // Patch releases of a cluster of Omni's are Omni's to change, in either direction; our program does not do it.
    const isOmnis = machine.spec.configuration === "omni" && running.minor === target.minor;
    return fault && !isOmnis ? { field, ...fault } : [];
  }),
  "version-contract": ofMachines(({ spec: { versionContract: said, configuration }, recipe: { talosVersion } }) => {
    if (said === undefined || configuration !== "owned") return [];
    const contract = readContract(said);
    if (contract === undefined) return complaint(".versionContract", "version-contract/form", { said: shown(said) });
    const [wanted, generated] = [parseTalosVersion(talosVersion), parseTalosVersion(contract)];
    const isNewer = wanted !== undefined && generated !== undefined && generated.minor > wanted.minor;
    return isNewer && complaint(".versionContract", "version-contract/newer", { said, talosVersion });
  }),
  "upgrade-first": ({ spec, machines }) => {
    const first = spec.upgrade?.first ?? [];
    return first.flatMap((name, index): Found => {
      const field = `upgrade.first[${index}]`;
      const things = { name: shown(name) };
      const machine = machines.find((one) => one.name === name);
      if (machine === undefined) {
        const able = machines.filter(({ spec: { role }, gpuCount }) => role === "worker" && gpuCount > 0);
        const names = able.map((worker) => worker.name);
        return complaint(field, "upgrade-first/unknown", { ...things, meant: didYouMean(name, names) });
      }
      if (machine.spec.role === "controlplane") return complaint(field, "upgrade-first/control-plane", things);
      if (machine.gpuCount === 0) return complaint(field, "upgrade-first/no-gpu", things);
      return first.indexOf(name) < index && complaint(field, "upgrade-first/twice", things);
    });
  },
  "may-be-away": together(
    ofMachines(
      ({ spec: { mayBeAway, role } }) =>
        mayBeAway === true && role === "controlplane" && complaint(".mayBeAway", "may-be-away/control-plane"),
    ),
    ({ spec, machines }) => {
      const able = machines.flatMap((machine) => (machine.spec.mayBeAway === true ? [machine.name] : []));
      return spec.away?.map(
        (name, index) =>
          !able.includes(name) &&
          complaint(`away[${index}]`, "may-be-away/unknown", { name: shown(name), meant: didYouMean(name, able) }),
      );
    },
  ),
};

/** Names of Talos' releases (siderolabs/talos, tags). */
const ofTalos = /^v\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?$/;
