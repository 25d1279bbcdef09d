import { migOf } from "../facts/card";
import type { CardUse } from "../facts/machine-facts";
import { canSplit, instancesOf, profileName, splits } from "../facts/sharing";
import { compareDotted } from "../facts/version";
import { ownClaim } from "../cluster/claim";
import { pluginConfigPlaces, sharingOf } from "../machine/own-sharing";
import { valueAt } from "../mapping";
import { didYouMean, type FindingText, migProfile, type FieldFinding } from "../rules";
import { type GpuRequest, gpuRequests } from "../stack/workloads";
import type { ClusterSpec } from "../spec/index";
import {
  type CheckContext,
  type CheckedMachine,
  type Checks,
  type Found,
  ofGpuRequests,
} from "./check";
import { machinesFor, mayMatch, offers, resourceOf } from "./placement";

/** How cards are shared, and whether all requests fit. */
export const sharingChecks = {
  sharing: {
    rule: "Time slicing has at least two replicas, and no card is shared by MPS, which does not work on Talos",
    source:
      'k8s-device-plugin v0.20.0, api/config/v1/replicas.go, README "Shared Access to GPUs", cmd/mps-control-daemon/mps/daemon.go (Start: without PATH nvidia-cuda-mps-control looks for its server in /bin and /usr/bin); device plugin 0.18.2 and 0.19.3 on an H100',
    ofFiles: true,
    find: ({ spec, gpuMachines }) => {
      const { timeSlicing, mps } = spec.sharing ?? {};
      // Another image may have the fix.
      const own = pluginConfigPlaces.filter(
        ({ field, image }) =>
          spec[field] !== undefined && valueAt(spec[field]?.values, ...image) === undefined,
      );
      const ownByMps = gpuMachines.some(
        (machine) => sharingOf({ ...spec, sharing: {} }, machine.spec)?.mps !== undefined,
      );
      return [
        timeSlicing !== undefined &&
          timeSlicing.replicas < 2 && {
            field: "sharing.timeSlicing.replicas",
            problem: `is ${timeSlicing.replicas}`,
            why: "the device plugin refuses its configuration, and the node offers no GPU",
            remedy: "write 2 or more, or leave timeSlicing out",
          },
        mps !== undefined && { field: "sharing.mps", ...byMps },
        ownByMps &&
          own.map(({ field, section }) => ({
            field: `${field}.values.${section.join(".")}`,
            ...byMps,
          })),
      ];
    },
  },
  "sharing-config": {
    rule: "Either the stack or the device plugin's own configuration sets sharing",
    source:
      "k8s-device-plugin v0.17.4 to v0.19.3, deployments/helm/nvidia-device-plugin/templates/validation.yml (config.name with config.map); gpu-operator, templates/plugin_config.yaml",
    ofFiles: true,
    find: ({ spec }) => {
      if (!spec.sharing?.timeSlicing) return [];
      return pluginConfigPlaces.flatMap(({ field, section, texts }): Found => {
        const config = valueAt(spec[field]?.values, ...section);
        const said = ([key, value]: readonly [string, unknown]): boolean =>
          value !== undefined && value !== null && key !== "";
        const rivals = [
          ["name", valueAt(config, "name")],
          [
            "default",
            valueAt(config, "default") === "default" ? undefined : valueAt(config, "default"),
          ],
          [`${texts}.default`, valueAt(config, texts, "default")],
        ] as const;
        return rivals.filter(said).map(([key]) => ({
          field: `${field}.values.${[...section, key].join(".")}`,
          problem: "names a configuration of the device plugin, and sharing is set",
          why: "the plugin uses one per node: the chart refuses two, or yours replaces the one that `sharing` makes",
          remedy: "leave it out, or leave sharing out and set all of it in your configuration",
        }));
      });
    },
  },
  mig: {
    rule: "The card has the MIG profile, its driver supports MIG, and the operator's MIG manager splits it",
    source: "NVIDIA MIG user guide, supported profiles; NVIDIA/mig-parted, config-default.yaml",
    ofFiles: true,
    find: ({ spec, gpuMachines }) => {
      const wanted = spec.sharing?.mig;
      if (!wanted) return [];
      const profile = profileName(wanted.profile);
      if (!splits(wanted.profile)) return [];
      const fault = profile === "balanced" ? undefined : migProfile(wanted.profile);
      if (fault) return { field: "sharing.mig.profile", ...fault };
      const withMig = gpuMachines.filter(canSplit);
      return [
        spec.devicePlugin &&
          !spec.gpuOperator && {
            field: "sharing.mig",
            problem: "with the standalone plugin",
            why: "nothing would partition the cards: the MIG manager belongs to the GPU Operator, and Talos has no shell in which you could do it by hand",
            remedy: "take gpuOperator, or leave mig out",
          },
        profile === "balanced" &&
          wanted.strategy === "single" && {
            field: "sharing.mig.strategy",
            problem: "single with all-balanced",
            why: "all-balanced makes MIG devices of several sizes, and the strategy single offers them only if all have the same size",
            remedy: "write mixed, or one profile for all",
          },
        // Machines whose cards are all without MIG keep them whole, as long as there is one to split.
        (withMig.length > 0 ? withMig : gpuMachines).map((machine) =>
          machine.uses.map((use) => migOfCard(machine, use, spec, wanted.profile)),
        ),
      ];
    },
  },
  "gpu-requests": {
    rule: "One machine has enough GPUs for each request",
    source:
      "Kubernetes: a pod's extended resources come from one node; k8s-device-plugin, MIG strategy mixed",
    ofFiles: false,
    find: ofGpuRequests((request, context) => {
      const { spec, gpuMachines } = context;
      if (gpuMachines.length === 0) return [];
      const offered = [
        ...new Set(gpuMachines.flatMap((machine) => Object.keys(machine.recipe.allocatable))),
      ].sort();
      const { gpus, migProfile } = request;
      const resource = resourceOf(request, context);
      if (migProfile !== undefined && spec.sharing?.mig?.strategy !== "mixed")
        return {
          field: ".migProfile",
          problem: `${migProfile}, but the cards are not partitioned with the strategy mixed`,
          why: `only the strategy mixed gives MIG devices resource names of their own: the pod would request ${resource} instead`,
          remedy: "leave it out, or set sharing.mig.strategy to mixed",
        };
      if (migProfile !== undefined && !offered.includes(resource)) {
        const profiles = offered.map((name) => name.replace(/^nvidia\.com\/mig-/, ""));
        const meant = didYouMean(migProfile, profiles);
        return {
          field: ".migProfile",
          problem: `no machine has MIG devices ${migProfile}`,
          why: "the pod would stay Pending forever",
          remedy: `${meant}one of ${profiles.join(", ")}, or another sharing.mig.profile`,
        };
      }
      const fitting = gpuMachines.filter((machine) =>
        mayMatch(machine, request.nodeSelector ?? {}),
      );
      if (fitting.length === 0) return []; // pod-node-selector tells
      const most = fitting.reduce(
        (largest, machine) => Math.max(largest, offers(machine, resource)),
        0,
      );
      if (gpus <= most) return [];
      const where =
        fitting.length === gpuMachines.length
          ? "no machine has"
          : `${fitting.map(({ name }) => name).join(", ")}, where nodeSelector sends it, has no`;
      return {
        field: ".gpus",
        problem: `${gpus} of ${resource}, but ${where} more than ${most}`,
        why: "a pod gets its GPUs from one machine, so this one stays Pending forever",
        remedy:
          most === 0
            ? "send it to another machine, or request another resource"
            : `request at most ${most}`,
      };
    }),
  },
  "gpu-capacity": {
    rule: "The machines have enough GPUs for all workloads that run at the same time",
    source:
      "Kubernetes: extended resources are not overcommitted, and a pod gets them from one node",
    ofFiles: true,
    find: (context) => {
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
  },
  "sharing-requests": {
    rule: "A pod requests one slice of a shared card",
    source: "k8s-device-plugin, README, failRequestsGreaterThanOne",
    ofFiles: true,
    find: ofGpuRequests(
      ({ gpus }, { spec }) =>
        gpus > 1 &&
        sharingOf(spec)?.refusesSeveral === true && {
          field: ".gpus",
          problem: `${gpus} slices of shared cards`,
          why: "two slices have no larger part of a card than one: the kubelet refuses the pod with UnexpectedAdmissionError",
          remedy: spec.sharing?.timeSlicing
            ? "request 1, or set sharing.timeSlicing.failRequestsGreaterThanOne: false"
            : "request 1, or leave failRequestsGreaterThanOne out of your configuration",
        },
    ),
  },
} satisfies Checks;

const byMps: FindingText = {
  problem:
    "shares by MPS, which does not work on Talos with any release of the device plugin that we know",
  why: "the plugin starts nvidia-cuda-mps-control without PATH: it does not find its server in /usr/local/bin, and every program ends with CUDA error 805",
  remedy: "share by timeSlicing (docs/upstream/mps-server-path.md)",
};

/** Why a card cannot be split as the stack wants it. */
function migOfCard(
  machine: CheckedMachine,
  { card, field }: CardUse,
  spec: ClusterSpec,
  wanted: string,
): Found {
  if (!card) return undefined;
  const profile = profileName(wanted);
  const geometry = migOf(card);
  if (!geometry)
    // If the tables lack its profiles, a note says so.
    return (
      !card.mayHaveMig && {
        field: "sharing.mig",
        problem: `the ${card.model} of ${machine.name} has no MIG`,
        why: "the MIG manager would fail on it, and take its GPUs out of service while it tries",
        remedy: `leave mig out, or ${field} out of the stack`,
      }
    );
  // A configuration of the user's own names what it names.
  const isOwn = Boolean(valueAt(spec.gpuOperator?.values, "migManager", "config", "name"));
  const unlisted: readonly string[] = isOwn ? [] : (geometry.unlisted ?? []);
  const profiles = Object.keys(geometry.profiles);
  if (profile === "balanced" ? !geometry.balanced : unlisted.includes(profile))
    return {
      field: "sharing.mig.profile",
      problem: `all-${profile} does nothing on the ${card.model} of ${machine.name}`,
      why: "the MIG manager's configuration names other cards: it reports success and splits none of these",
      remedy: `write one of ${profiles.filter((name) => !unlisted.includes(name)).join(", ")}`,
    };
  if (Object.keys(instancesOf(geometry, wanted)).length === 0)
    return {
      field: "sharing.mig.profile",
      problem: `the ${card.model} of ${machine.name} has no profile ${profile}`,
      why: "the MIG manager would set nvidia.com/mig.config.state=failed, and the node would offer whole cards or none",
      remedy: `${didYouMean(profile, profiles)}one of ${[...profiles, ...(geometry.balanced ? ["all-balanced"] : [])].join(", ")}`,
    };
  return (
    machine.driverVersion !== undefined &&
    compareDotted(machine.driverVersion, geometry.minDriver) < 0 && {
      field: "sharing.mig",
      problem: `MIG on the ${card.model} needs driver ${geometry.minDriver}, but ${machine.name} runs ${machine.driverVersion}`,
      why: "the driver cannot partition the card",
      remedy: "take another driver.branch or a newer Talos version",
    }
  );
}

function capacityOf(resource: string, requests: GpuRequest[], context: CheckContext): Found {
  const placed = requests.map((request) => ({ request, machines: machinesFor(request, context) }));
  // A single request that is too large, or fits nowhere, has a check of its own.
  const isTooLarge = ({ request, machines }: (typeof placed)[number]): boolean =>
    machines.filter((machine) => offers(machine, resource) >= request.gpus).length <
    request.machines;
  if (placed.some(isTooLarge)) return [];
  const everywhere = context.gpuMachines.reduce(
    (sum, machine) => sum + offers(machine, resource),
    0,
  );
  const wanted = requests.reduce((sum, request) => sum + request.gpus, 0);
  if (wanted > everywhere)
    return [tooMany(resource, requests, wanted, `the machines have ${everywhere}`)];
  const groups = new Map(
    placed.map(({ machines }) => [machines.map(({ name }) => name).join(" "), machines]),
  );
  for (const [names, machines] of groups) {
    const own = placed.filter((one) => one.machines.every((machine) => machines.includes(machine)));
    const sum = own.reduce((total, { request }) => total + request.gpus, 0);
    const has = machines.reduce((total, machine) => total + offers(machine, resource), 0);
    const pinned = own.map(({ request }) => request);
    if (sum > has)
      return [
        tooMany(
          resource,
          pinned,
          sum,
          `${names.replaceAll(" ", ", ")}, the only place where they fit, has ${has}`,
        ),
      ];
  }
  // A pod gets its GPUs from one node: what is left there may be too little for another.
  for (const least of new Set(requests.map((request) => request.gpus))) {
    const large = requests.filter((request) => request.gpus >= least);
    const places = context.gpuMachines.reduce(
      (sum, machine) => sum + Math.floor(offers(machine, resource) / least),
      0,
    );
    const total = large.reduce((sum, request) => sum + request.gpus, 0);
    if (large.length > places)
      return [
        tooMany(
          resource,
          large,
          total,
          `the machines have room for ${places} with ${least} or more each`,
        ),
      ];
  }
  return [];
}

function tooMany(
  resource: string,
  requests: GpuRequest[],
  total: number,
  but: string,
): FieldFinding {
  const names = [
    ...new Set(requests.map((request) => request.field.replace(/^workloads\.(pods\.)?/, ""))),
  ];
  const listed =
    names.length > 8
      ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more`
      : names.join(", ");
  return {
    field: "workloads",
    problem: `${listed} request ${total} of ${resource} at the same time, and ${but}`,
    why: "a pod stays Pending forever, and which one can change with every reboot",
    remedy: "set `active: false` where they take turns, or share the cards (sharing.timeSlicing)",
  };
}
