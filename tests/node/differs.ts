import type { Telling } from "./compare";

/** Cases that come about on the real node alone, and why the emulated one does not have them: there the pod just runs. */
export const realAlone: Record<string, string> = {
  "no such image": "an image that no rule of the lab knows counts as one that is there, so that any workload comes up",
  "no such program": "images are not there, so whatever a pod calls counts as a server that runs",
  "root where none may be": "images are not there, and with them the user that they run as",
  "its time is over":
    "no manifest of this package sets activeDeadlineSeconds on a pod; a Job's is the Job controller's, which is real",
};

/** Where the emulated kubelet says something else than the real one, by case. */
export const differs: Record<string, { fields: Telling; why: string }> = {
  "not alive": {
    fields: { container: ["terminated", "Error", 143] },
    why: "in a container the shell is process 1, which SIGTERM does not end; emulated ones have this computer's numbers",
  },
};

/** The label that tells when GPU feature discovery looked. */
export const ofTheMoment = "nvidia.com/gfd.timestamp";

/** Other labels of it in which the nodes differ, and why. */
export const labelsDiffer: Record<string, string> = {
  "nvidia.com/gpu.machine": "the real one says what this computer calls itself",
  "nvidia.com/gpu.mode": "the real one asks the kernel's list of PCI devices, which the stand-in's cards are not in",
  "nvidia.com/vgpu.present": "so it does for this",
};
