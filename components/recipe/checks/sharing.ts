import * as semver from "semver";
import type { Check, CheckContext, Complaint } from "./check";
import { profileName } from "../facts/sharing";
import { compareDotted } from "../facts/version";

/** Clients that the MPS server of one card takes. */
const mostClients = 48;
/** The same for cards that the device plugin counts as older than Volta: compute capability below 7.5. */
const clientsOfOlder = 16;

function olderCards(machines: CheckContext["gpuMachines"], replicas: number): Complaint[] {
  if (replicas <= clientsOfOlder) return [];
  return machines.flatMap(({ name, cards }) =>
    cards
      .filter(({ computeCapability }) => compareDotted(computeCapability, "7.5") < 0)
      .map(({ model }) => ({
        field: "sharing.mps.replicas",
        problem: `is ${replicas}, and the ${model} of ${name} takes ${clientsOfOlder}`,
        why: "the MPS control daemon refuses its configuration, and the device plugin waits for it for ever",
        remedy: `write 2 to ${clientsOfOlder}`,
      })),
  );
}

/**
 * Releases whose MPS control daemon is started with an environment of its pipe's folders alone, and so without PATH: of the device
 * plugin every one up to these, and of the operator every one, as it brings those plugins. nvidia-cuda-mps-control then looks for
 * its server in /bin and /usr/bin. Later ones are unknown, and not refused.
 */
const lastWithoutServer = { devicePlugin: "0.20.0", gpuOperator: "26.7.0" };

function withoutServer(spec: CheckContext["spec"]): Complaint[] {
  const [mode, last] = spec.devicePlugin
    ? (["devicePlugin", lastWithoutServer.devicePlugin] as const)
    : (["gpuOperator", lastWithoutServer.gpuOperator] as const);
  const version = semver.coerce(spec[mode]?.version ?? "");
  if (!version || version.compare(last) > 0) return [];
  return [
    {
      field: "sharing.mps",
      problem: `does not work on Talos with any release of the device plugin that we know (this stack's ${mode} is ${spec[mode]!.version})`,
      why: "the plugin starts nvidia-cuda-mps-control without PATH, which then does not find its server in Talos' /usr/local/bin: the node offers units, and every program on them ends with CUDA error 805",
      remedy:
        "share by timeSlicing; the plugin has to be mended (NVIDIA/k8s-device-plugin#1614, docs/upstream/mps-server-path.md)",
    },
  ];
}

/** Sharing is of one kind, and with numbers that the device plugin takes. */
export const sharing: Check = {
  id: "sharing",
  source:
    'k8s-device-plugin v0.20.0, api/config/v1/replicas.go, README "Shared Access to GPUs", internal/plugin/mps.go, cmd/mps-control-daemon/mps/device.go, PR#1045 (hostPID), cmd/mps-control-daemon/mps/daemon.go (Start); device plugin 0.18.2 and 0.19.3 on an H100; kubernetes-sigs/dra-driver-nvidia-gpu#115',
  find: ({ spec, gpuMachines }) => {
    const { timeSlicing, mps, mig } = spec.sharing ?? {};
    const complaints: (Complaint | false)[] = [
      timeSlicing !== undefined &&
        timeSlicing.replicas < 2 && {
          field: "sharing.timeSlicing.replicas",
          problem: `is ${timeSlicing.replicas}`,
          why: "the device plugin refuses its configuration, and the node offers no GPU",
          remedy: "write 2 or more, or leave timeSlicing out",
        },
      mps !== undefined &&
        (mps.replicas < 2 || mps.replicas > mostClients) && {
          field: "sharing.mps.replicas",
          problem: `is ${mps.replicas}`,
          why:
            mps.replicas < 2
              ? "the device plugin refuses its configuration, and the node offers no GPU"
              : "MPS serves at most 48 clients per card",
          remedy: "write 2 to 48, or leave mps out",
        },
      timeSlicing !== undefined &&
        mps !== undefined && {
          field: "sharing",
          problem: "has timeSlicing and mps",
          why: "the device plugin takes one of them and refuses a configuration with both",
          remedy: "leave one out",
        },
      mps !== undefined &&
        mig !== undefined &&
        profileName(mig.profile) !== "disabled" && {
          field: "sharing",
          problem: "has mps and mig",
          why: "the device plugin does not start with both: it shares whole cards by MPS, and no MIG devices",
          remedy: "leave one out",
        },
    ];
    if (mps !== undefined) complaints.push(...withoutServer(spec));
    const found = complaints.filter((complaint) => complaint !== false);
    return mps === undefined || mps.replicas > mostClients
      ? found
      : [...found, ...olderCards(gpuMachines, mps.replicas)];
  },
};
