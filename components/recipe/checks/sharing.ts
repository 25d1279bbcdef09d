import type { Check, Complaint } from "../check";

export const sharing: Check = {
  id: "sharing",
  source:
    'k8s-device-plugin v0.20.0, api/config/v1/replicas.go and README, "Shared Access to GPUs"; NVIDIA MPS (48 clients from Volta on)',
  find: ({ spec }) => {
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
        (mps.replicas < 2 || mps.replicas > 48) && {
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
        mig?.strategy === "mixed" && {
          field: "sharing",
          problem: "has mps and mig with the strategy mixed",
          why: "MPS shares nvidia.com/gpu only, and mixed MIG devices have other names",
          remedy: "leave one out",
        },
    ];
    return complaints.filter((complaint) => complaint !== false);
  },
};
