import { migOf } from "../facts/card";
import type { CardUse } from "../facts/machine-facts";
import { canSplit, instancesOf, profileName, splits } from "../facts/sharing";
import { compareDotted } from "../facts/version";
import { ownClaim } from "../kubernetes/claim";
import { pluginConfigPlaces, sharingOf } from "../machine/own-sharing";
import { valueAt } from "../mapping";
import { didYouMean, migProfile, type Problem } from "../rules";
import { type GpuRequest, gpuRequests } from "../stack/workloads";
import type { ClusterSpec } from "../spec/index";
import { type CheckContext, type CheckedMachine, type Checks, complaint, type Found, ofGpuRequests } from "./check";
import { machinesFor, mayMatch, offers, resourceOf } from "./placement";

/** How cards are shared, and whether all requests fit. */
export const sharingChecks: Checks = {
  sharing: ({ spec, gpuMachines }) => {
    const { timeSlicing, mps } = spec.sharing ?? {};
    // Another image may have it mended.
    const own = pluginConfigPlaces.filter(
      ({ field, image }) => spec[field] !== undefined && valueAt(spec[field]?.values, ...image) === undefined,
    );
    const byMps = gpuMachines.some((machine) => sharingOf({ ...spec, sharing: {} }, machine.spec)?.mps !== undefined);
    return [
      timeSlicing !== undefined &&
        timeSlicing.replicas < 2 &&
        complaint("sharing.timeSlicing.replicas", "sharing/replicas", { timeSlicing }),
      mps !== undefined && complaint("sharing.mps", "sharing/mps"),
      byMps && own.map(({ field, section }) => complaint(`${field}.values.${section.join(".")}`, "sharing/mps")),
    ];
  },
  "sharing-config": ({ spec }) => {
    if (!spec.sharing?.timeSlicing) return [];
    return pluginConfigPlaces.flatMap(({ field, section, texts }): Found => {
      const config = valueAt(spec[field]?.values, ...section);
      const said = ([key, value]: readonly [string, unknown]): boolean =>
        value !== undefined && value !== null && key !== "";
      const rivals = [
        ["name", valueAt(config, "name")],
        ["default", valueAt(config, "default") === "default" ? undefined : valueAt(config, "default")],
        [`${texts}.default`, valueAt(config, texts, "default")],
      ] as const;
      return rivals
        .filter(said)
        .map(([key]) => complaint(`${field}.values.${[...section, key].join(".")}`, "sharing-config"));
    });
  },
  mig: ({ spec, gpuMachines }) => {
    const wanted = spec.sharing?.mig;
    if (!wanted) return [];
    const profile = profileName(wanted.profile);
    if (!splits(wanted.profile)) return [];
    const fault = profile === "balanced" ? undefined : migProfile(wanted.profile);
    if (fault) return { field: "sharing.mig.profile", ...fault };
    const withMig = gpuMachines.filter(canSplit);
    return [
      spec.devicePlugin && !spec.gpuOperator && complaint("sharing.mig", "mig/plugin"),
      profile === "balanced" && wanted.strategy === "single" && complaint("sharing.mig.strategy", "mig/strategy"),
      // Machines whose cards are all without MIG keep them whole, as long as there is one to split.
      (withMig.length > 0 ? withMig : gpuMachines).map((machine) =>
        machine.uses.map((use) => migOfCard(machine, use, spec, wanted.profile)),
      ),
    ];
  },
  "gpu-requests": ofGpuRequests((request, context) => {
    const { spec, gpuMachines } = context;
    if (gpuMachines.length === 0) return [];
    const offered = [...new Set(gpuMachines.flatMap((machine) => Object.keys(machine.recipe.allocatable)))].sort();
    const { gpus, migProfile } = request;
    const resource = resourceOf(request, context);
    if (migProfile !== undefined && spec.sharing?.mig?.strategy !== "mixed")
      return complaint(".migProfile", "gpu-requests/strategy", { migProfile, resource });
    if (migProfile !== undefined && !offered.includes(resource)) {
      const profiles = offered.map((name) => name.replace(/^nvidia\.com\/mig-/, ""));
      const meant = didYouMean(migProfile, profiles);
      return complaint(".migProfile", "gpu-requests/profile", { migProfile, meant, profiles });
    }
    const fitting = gpuMachines.filter((machine) => mayMatch(machine, request.nodeSelector ?? {}));
    if (fitting.length === 0) return []; // pod-node-selector tells
    const most = fitting.reduce((largest, machine) => Math.max(largest, offers(machine, resource)), 0);
    if (gpus <= most) return [];
    const where =
      fitting.length === gpuMachines.length
        ? "no machine has"
        : `${fitting.map(({ name }) => name).join(", ")}, where nodeSelector sends it, has no`;
    const saying = most === 0 ? "gpu-requests/none" : "gpu-requests/too-many";
    return complaint(".gpus", saying, { gpus, resource, where, most });
  }),
  "gpu-capacity": (context) => {
    if (context.gpuMachines.length === 0) return [];
    const active = gpuRequests(context.spec)
      .filter(({ active, claim }) => active && ownClaim(claim) === undefined) // pods may share a claim of their owner's
      .flatMap((request) => Array.from({ length: request.machines }, () => request));
    const resources = new Set(active.map((request) => resourceOf(request, context)));
    return [...resources].map((resource) => {
      const requests = active.filter((request) => resourceOf(request, context) === resource);
      return capacityOf(resource, requests, context);
    });
  },
  "sharing-requests": ofGpuRequests(
    ({ gpus }, { spec }) =>
      gpus > 1 &&
      sharingOf(spec)?.refusesSeveral === true &&
      complaint(".gpus", spec.sharing?.timeSlicing ? "sharing-requests/sharing" : "sharing-requests/values", { gpus }),
  ),
};

/** Why a card cannot be split as the stack wants it. */
function migOfCard(machine: CheckedMachine, { card, field }: CardUse, spec: ClusterSpec, wanted: string): Found {
  if (!card) return undefined;
  const profile = profileName(wanted);
  const geometry = migOf(card);
  if (!geometry)
    // Where its profiles are not known here, a note says so.
    return !card.mayHaveMig && complaint("sharing.mig", "mig/none", { card, machine, field });
  // A configuration of the user's own names what it names.
  const isOwn = Boolean(valueAt(spec.gpuOperator?.values, "migManager", "config", "name"));
  const unlisted: readonly string[] = isOwn ? [] : (geometry.unlisted ?? []);
  const profiles = Object.keys(geometry.profiles);
  if (profile === "balanced" ? !geometry.balanced : unlisted.includes(profile))
    return complaint("sharing.mig.profile", "mig/unlisted", {
      ...{ profile, card, machine, profiles: profiles.filter((name) => !unlisted.includes(name)) },
    });
  if (Object.keys(instancesOf(geometry, wanted)).length === 0)
    return complaint("sharing.mig.profile", "mig/profile", {
      ...{ profile, card, machine, meant: didYouMean(profile, profiles) },
      profiles: [...profiles, ...(geometry.balanced ? ["all-balanced"] : [])],
    });
  return (
    machine.driverVersion !== undefined &&
    compareDotted(machine.driverVersion, geometry.minDriver) < 0 &&
    complaint("sharing.mig", "mig/driver", { card, geometry, machine })
  );
}

function capacityOf(resource: string, requests: GpuRequest[], context: CheckContext): Found {
  const placed = requests.map((request) => ({ request, machines: machinesFor(request, context) }));
  // A single request that is too large, or fits nowhere, has a check of its own.
  const isTooLarge = ({ request, machines }: (typeof placed)[number]): boolean =>
    machines.filter((machine) => offers(machine, resource) >= request.gpus).length < request.machines;
  if (placed.some(isTooLarge)) return [];
  const everywhere = context.gpuMachines.reduce((sum, machine) => sum + offers(machine, resource), 0);
  const wanted = requests.reduce((sum, request) => sum + request.gpus, 0);
  if (wanted > everywhere) return [tooMany(resource, requests, wanted, `the machines have ${everywhere}`)];
  const groups = new Map(placed.map(({ machines }) => [machines.map(({ name }) => name).join(" "), machines]));
  for (const [names, machines] of groups) {
    const own = placed.filter((one) => one.machines.every((machine) => machines.includes(machine)));
    const sum = own.reduce((total, { request }) => total + request.gpus, 0);
    const has = machines.reduce((total, machine) => total + offers(machine, resource), 0);
    const pinned = own.map(({ request }) => request);
    if (sum > has)
      return [tooMany(resource, pinned, sum, `${names.replaceAll(" ", ", ")}, where alone they fit, has ${has}`)];
  }
  // A pod gets its GPUs from one node: what is left there may be too little for another.
  for (const least of new Set(requests.map((request) => request.gpus))) {
    const large = requests.filter((request) => request.gpus >= least);
    const places = context.gpuMachines.reduce((sum, machine) => sum + Math.floor(offers(machine, resource) / least), 0);
    const total = large.reduce((sum, request) => sum + request.gpus, 0);
    if (large.length > places)
      return [tooMany(resource, large, total, `the machines have place for ${places} pods of ${least} or more each`)];
  }
  return [];
}

function tooMany(resource: string, requests: GpuRequest[], total: number, but: string): Problem {
  const names = [...new Set(requests.map((request) => request.field.replace(/^workloads\.(pods\.)?/, "")))];
  const listed = names.length > 8 ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more` : names.join(", ");
  return complaint("workloads", "gpu-capacity", { listed, total, resource, but });
}
