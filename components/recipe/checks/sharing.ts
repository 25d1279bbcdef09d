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

export const sharing: Check = {
  id: "sharing",
  source:
    'k8s-device-plugin v0.20.0, api/config/v1/replicas.go, README "Shared Access to GPUs", internal/plugin/mps.go, cmd/mps-control-daemon/mps/device.go, PR#1045 (hostPID); kubernetes-sigs/dra-driver-nvidia-gpu#115',
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
    if (
      mps !== undefined &&
      spec.devicePlugin &&
      (semver.coerce(spec.devicePlugin.version)?.compare("0.18.0") ?? 0) < 0
    ) {
      complaints.push({
        field: "devicePlugin.version",
        problem: `${spec.devicePlugin.version} with mps`,
        why: "its MPS control daemon does not see the host's processes, and the MPS server does not find itself among them: clients get no card",
        remedy: "take 0.18.2 or newer, or leave mps out",
      });
    }
    const found = complaints.filter((complaint) => complaint !== false);
    return mps === undefined || mps.replicas > mostClients
      ? found
      : [...found, ...olderCards(gpuMachines, mps.replicas)];
  },
};
