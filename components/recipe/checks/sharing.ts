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
  findPerGpuRequest,
} from "./check";
import { machinesFor, mayMatch, offers, resourceOf } from "./placement";

/** Checks of the sharing of cards, and of the number of requested GPUs. */
export const sharingChecks = {
  sharing: {
    rule: "Time slicing makes at least two slices of a card, and no card is shared by MPS, which does not work on Talos",
    source:
      'k8s-device-plugin v0.20.0, api/config/v1/replicas.go, README "Shared Access to GPUs", cmd/mps-control-daemon/mps/daemon.go (Start: without PATH nvidia-cuda-mps-control looks for its server in /bin and /usr/bin); device plugin 0.18.2 and 0.19.3 on an H100',
    ofFiles: true,
    find: ({ spec, gpuMachines }) => {
      const { timeSlicing, mps } = spec.sharing ?? {};
      // A device plugin from a different image may contain the fix.
      const ownConfigPlaces = pluginConfigPlaces.filter(
        ({ field, image }) =>
          spec[field] !== undefined && valueAt(spec[field]?.values, ...image) === undefined,
      );
      const ownConfigUsesMps = gpuMachines.some(
        (machine) => sharingOf({ ...spec, sharing: {} }, machine.spec)?.mps !== undefined,
      );
      return [
        timeSlicing !== undefined && timeSlicing.replicas < 2
          ? {
              field: "sharing.timeSlicing.replicas",
              problem: `is ${timeSlicing.replicas}`,
              why: "the device plugin refuses its configuration, and the node offers no GPU",
              remedy: "write 2 or more, or leave `timeSlicing` out",
            }
          : undefined,
        mps !== undefined ? { field: "sharing.mps", ...byMps } : undefined,
        ownConfigUsesMps &&
          ownConfigPlaces.map(({ field, section }) => ({
            field: `${field}.values.${section.join(".")}`,
            ...byMps,
          })),
      ];
    },
  },
  "sharing-config": {
    rule: "With sharing.timeSlicing, no chart value names the device plugin's configuration, and none replaces the configuration `default`",
    source:
      "k8s-device-plugin v0.17.4 to v0.19.3, deployments/helm/nvidia-device-plugin/templates/validation.yml (config.name with config.map); gpu-operator, templates/plugin_config.yaml",
    ofFiles: true,
    find: ({ spec }) => {
      if (!spec.sharing?.timeSlicing) return [];
      return pluginConfigPlaces.flatMap(({ field, section, texts }): Found => {
        const config = valueAt(spec[field]?.values, ...section);
        const isSet = ([key, value]: readonly [string, unknown]): boolean =>
          value !== undefined && value !== null && key !== "";
        const conflictingValues = [
          ["name", valueAt(config, "name")],
          [
            "default",
            valueAt(config, "default") === "default" ? undefined : valueAt(config, "default"),
          ],
          [`${texts}.default`, valueAt(config, texts, "default")],
        ] as const;
        return conflictingValues.filter(isSet).map(([key]) => ({
          field: `${field}.values.${[...section, key].join(".")}`,
          problem: "sets a configuration of the device plugin, but sharing.timeSlicing is set",
          why: "the plugin uses one configuration per node, so the chart fails, or your configuration replaces that of `sharing`",
          remedy:
            "leave this value out, or remove `sharing` and set the time slicing in your configuration",
        }));
      });
    },
  },
  mig: {
    rule: "With sharing.mig, the cards have the profile, the driver supports MIG, the strategy fits the profile, and the operator splits the cards",
    source: "NVIDIA MIG user guide, supported profiles; NVIDIA/mig-parted, config-default.yaml",
    ofFiles: true,
    find: ({ spec, gpuMachines }) => {
      const mig = spec.sharing?.mig;
      if (!mig) return [];
      const profile = profileName(mig.profile);
      if (!splits(mig.profile)) return [];
      const finding = profile === "balanced" ? undefined : migProfile(mig.profile);
      if (finding) return { field: "sharing.mig.profile", ...finding };
      const withMig = gpuMachines.filter(canSplit);
      return [
        spec.devicePlugin && !spec.gpuOperator
          ? {
              field: "sharing.mig",
              problem: "is set together with devicePlugin",
              why: "only the GPU Operator has a MIG manager that splits the cards, and Talos has no shell to split them by hand",
              remedy: "use gpuOperator, or leave `mig` out",
            }
          : undefined,
        profile === "balanced" && mig.strategy === "single"
          ? {
              field: "sharing.mig.strategy",
              problem: "is single, but the profile is all-balanced",
              why: "all-balanced makes MIG devices of several sizes, and the strategy `single` offers only devices of one size",
              remedy: "write mixed, or set one profile for all devices",
            }
          : undefined,
        // A machine without MIG cards keeps its cards whole, if another machine has a card to split.
        (withMig.length > 0 ? withMig : gpuMachines).map((machine) =>
          machine.uses.map((use) => migOfCard(machine, use, spec, mig.profile)),
        ),
      ];
    },
  },
  "gpu-requests": {
    rule: "For each pod, at least one machine has all GPUs that the pod requests",
    source:
      "Kubernetes: a pod's extended resources come from one node; k8s-device-plugin, MIG strategy mixed",
    ofFiles: false,
    find: findPerGpuRequest((request, context) => {
      const { spec, gpuMachines } = context;
      if (gpuMachines.length === 0) return [];
      const offeredResources = [
        ...new Set(gpuMachines.flatMap((machine) => Object.keys(machine.recipe.allocatable))),
      ].sort();
      const { gpus, migProfile } = request;
      const resource = resourceOf(request, context);
      if (migProfile !== undefined && spec.sharing?.mig?.strategy !== "mixed")
        return {
          field: ".migProfile",
          problem: `is ${migProfile}, but sharing.mig.strategy is not mixed`,
          why: `only the strategy \`mixed\` gives each MIG profile its own resource, so the pod would request ${resource} instead`,
          remedy: "leave it out, or set sharing.mig.strategy to mixed",
        };
      if (migProfile !== undefined && !offeredResources.includes(resource)) {
        const profiles = offeredResources.map((name) => name.replace(/^nvidia\.com\/mig-/, ""));
        const suggestion = didYouMean(migProfile, profiles);
        return {
          field: ".migProfile",
          problem: `no machine has MIG devices with the profile ${migProfile}`,
          why: "the pod would stay Pending forever",
          remedy: `${suggestion}write one of ${profiles.join(", ")}, or change sharing.mig.profile`,
        };
      }
      const fitting = gpuMachines.filter((machine) =>
        mayMatch(machine, request.nodeSelector ?? {}),
      );
      if (fitting.length === 0) return []; // The check pod-node-selector reports it.
      const greatestOffer = fitting.reduce(
        (largest, machine) => Math.max(largest, offers(machine, resource)),
        0,
      );
      if (gpus <= greatestOffer) return [];
      const whichMachines =
        fitting.length === gpuMachines.length
          ? "no machine has"
          : `no machine that nodeSelector selects (${fitting.map(({ name }) => name).join(", ")}) has`;
      return {
        field: ".gpus",
        problem: `requests ${gpus} of ${resource}, but ${whichMachines} more than ${greatestOffer}`,
        why: "a pod gets all its GPUs from one machine, so this pod stays Pending forever",
        remedy:
          greatestOffer === 0
            ? "select another machine by `nodeSelector`, or change `migProfile`"
            : `request at most ${greatestOffer}`,
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
        .filter(({ active, claim }) => active && ownClaim(claim) === undefined) // Pods that name the same ResourceClaim share its cards.
        .flatMap((request) => Array.from({ length: request.machines }, () => request));
      const resources = new Set(active.map((request) => resourceOf(request, context)));
      return [...resources].map((resource) => {
        const requests = active.filter((request) => resourceOf(request, context) === resource);
        return capacityOf(resource, requests, context);
      });
    },
  },
  "sharing-requests": {
    rule: "A pod requests one slice if the device plugin refuses requests for several slices of shared cards",
    source: "k8s-device-plugin, README, failRequestsGreaterThanOne",
    ofFiles: true,
    find: findPerGpuRequest(({ gpus }, { spec }) =>
      gpus > 1 && sharingOf(spec)?.refusesSeveral === true
        ? {
            field: ".gpus",
            problem: `requests ${gpus} slices of shared cards`,
            why: "two slices give no more of a card than one slice, so the device plugin refuses the request, and the pod fails with UnexpectedAdmissionError",
            remedy: spec.sharing?.timeSlicing
              ? "request 1, or set sharing.timeSlicing.failRequestsGreaterThanOne: false"
              : "request 1, or remove failRequestsGreaterThanOne from your configuration of the device plugin",
          }
        : undefined,
    ),
  },
} satisfies Checks;

const byMps: FindingText = {
  problem: "sets MPS, which does not work on Talos with any known release of the device plugin",
  why: "the plugin starts nvidia-cuda-mps-control without PATH, so MPS does not find its server in /usr/local/bin, and every program exits with CUDA error 805",
  remedy: "use timeSlicing (docs/upstream/mps-server-path.md)",
};

/** Finding for a card that cannot be split as the stack wants. */
function migOfCard(
  machine: CheckedMachine,
  { card, field }: CardUse,
  spec: ClusterSpec,
  wantedProfile: string,
): Found {
  if (!card) return undefined;
  const profile = profileName(wantedProfile);
  const geometry = migOf(card);
  if (!geometry)
    // If the tables lack its profiles, a note says so.
    return !card.mayHaveMig
      ? {
          field: "sharing.mig",
          problem: `the ${card.model} of ${machine.name} does not support MIG`,
          why: "the MIG manager would fail on this machine, and the node offers no GPU while the manager tries",
          remedy: `leave \`mig\` out, or remove ${field} from the stack`,
        }
      : undefined;
  // The user's own configuration of the MIG manager may name any profile.
  const isOwn = Boolean(valueAt(spec.gpuOperator?.values, "migManager", "config", "name"));
  const unlistedProfiles: readonly string[] = isOwn ? [] : (geometry.unlisted ?? []);
  const profiles = Object.keys(geometry.profiles);
  if (profile === "balanced" ? !geometry.balanced : unlistedProfiles.includes(profile))
    return {
      field: "sharing.mig.profile",
      problem: `all-${profile} does nothing on the ${card.model} of ${machine.name}`,
      why: "the MIG manager's configuration has this profile only for other cards, so the manager reports success but splits no card",
      remedy: `write one of ${profiles.filter((name) => !unlistedProfiles.includes(name)).join(", ")}`,
    };
  if (Object.keys(instancesOf(geometry, wantedProfile)).length === 0)
    return {
      field: "sharing.mig.profile",
      problem: `the ${card.model} of ${machine.name} has no profile ${profile}`,
      why: "the MIG manager would set nvidia.com/mig.config.state=failed, and the node would offer whole cards or no cards",
      remedy: `${didYouMean(profile, profiles)}write one of ${[...profiles, ...(geometry.balanced ? ["all-balanced"] : [])].join(", ")}`,
    };
  return machine.driverVersion !== undefined &&
    compareDotted(machine.driverVersion, geometry.minDriver) < 0
    ? {
        field: "sharing.mig",
        problem: `MIG on the ${card.model} needs driver ${geometry.minDriver} or newer, but ${machine.name} runs ${machine.driverVersion}`,
        why: "the driver cannot split the card",
        remedy: "use another driver.branch or a newer Talos version",
      }
    : undefined;
}

function capacityOf(resource: string, requests: GpuRequest[], context: CheckContext): Found {
  const tooMany = (excess: GpuRequest[], total: number, limitText: string): FieldFinding =>
    tooManyFinding(resource, excess, total, limitText, wayToShare(context));
  const placed = requests.map((request) => ({ request, machines: machinesFor(request, context) }));
  // A single request that is too large, or fits nowhere, has a check of its own.
  const isTooLarge = ({ request, machines }: (typeof placed)[number]): boolean =>
    machines.filter((machine) => offers(machine, resource) >= request.gpus).length <
    request.machines;
  if (placed.some(isTooLarge)) return [];
  const totalOffer = context.gpuMachines.reduce(
    (sum, machine) => sum + offers(machine, resource),
    0,
  );
  const totalRequest = requests.reduce((sum, request) => sum + request.gpus, 0);
  if (totalRequest > totalOffer)
    return [tooMany(requests, totalRequest, `the machines have only ${totalOffer}`)];
  const groups = new Map(
    placed.map(({ machines }) => [machines.map(({ name }) => name).join(" "), machines]),
  );
  for (const [names, machines] of groups) {
    const requestsOfGroup = placed.filter((placedRequest) =>
      placedRequest.machines.every((machine) => machines.includes(machine)),
    );
    const sum = requestsOfGroup.reduce((total, { request }) => total + request.gpus, 0);
    const offerOfGroup = machines.reduce((total, machine) => total + offers(machine, resource), 0);
    const pinned = requestsOfGroup.map(({ request }) => request);
    if (sum > offerOfGroup)
      return [
        tooMany(
          pinned,
          sum,
          `these pods fit only on ${names.replaceAll(" ", ", ")} (with ${offerOfGroup} in total)`,
        ),
      ];
  }
  // A pod gets its GPUs from one node, so the rest of a node may be too small for another pod.
  for (const smallest of new Set(requests.map((request) => request.gpus))) {
    const large = requests.filter((request) => request.gpus >= smallest);
    const places = context.gpuMachines.reduce(
      (sum, machine) => sum + Math.floor(offers(machine, resource) / smallest),
      0,
    );
    const total = large.reduce((sum, request) => sum + request.gpus, 0);
    if (large.length > places)
      return [
        tooMany(
          large,
          total,
          `only ${places} of these pods can run, because each needs ${smallest} or more on one machine`,
        ),
      ];
  }
  return [];
}

/** The part of a remedy that says how more pods can get a GPU. */
function wayToShare({ spec }: CheckContext): string {
  if (spec.dra !== undefined)
    return "let pods share a card through one ResourceClaim (claim.resourceClaimName)";
  if (spec.sharing?.mig !== undefined)
    return "set sharing.mig.profile to a profile with more devices per card";
  if (spec.sharing?.timeSlicing !== undefined)
    return "set a larger number in sharing.timeSlicing.replicas";
  return sharingOf(spec)?.timeSlicing === undefined
    ? "share the cards (sharing.timeSlicing)"
    : "set a larger number of replicas in your configuration of the device plugin";
}

function tooManyFinding(
  resource: string,
  requests: GpuRequest[],
  total: number,
  limitText: string,
  wayToShare: string,
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
    problem: `${listed} request ${total} of ${resource} at the same time, and ${limitText}`,
    why: "at least one pod stays Pending, and after a reboot this may be a different pod",
    remedy: `set \`active: false\` for some of these workloads, or ${wayToShare}`,
  };
}
