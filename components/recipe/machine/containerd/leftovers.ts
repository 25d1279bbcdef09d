import type { FindingText } from "../../rules";

/** Patterns in containerd settings, or in a patch that contains such settings, each with its finding. */
const ways: [text: RegExp, fault: FindingText][] = [
  [
    /\bdefault_runtime_name *= *["']nvidia["']/,
    {
      problem:
        "makes nvidia the default runtime of containerd, but no image of Talos ≥ 1.15 contains this runtime",
      why: "containerd then starts no pod, and the kubelet does not start",
      remedy: "leave this setting out: pods that request a GPU get it without NVIDIA's runtime",
    },
  ],
  [
    /\bruntimes\.["']?nvidia\b/,
    {
      problem: "configures containerd's runtime nvidia, but no image of Talos ≥ 1.15 contains it",
      why: "the runtime would have no program, so pods with its RuntimeClass would not start",
      remedy: "leave this setting out",
    },
  ],
  [
    /\bio\.containerd\.nri\.v1\.nri["']? *\][^[]*\bdisable *= *true/,
    {
      problem: "disables containerd's NRI",
      why: "the operator's toolkit needs NRI: its pod would fail with `failed to find valid nri socket`, and no pod would see a card",
      remedy: "leave this setting out: Talos ≥ 1.14 enables NRI",
    },
  ],
];

/**
 * Findings for settings of containerd that need NVIDIA's runtime in the image, and so are wrong on Talos ≥ 1.15.
 * Source: siderolabs/extensions#1222; containerd 2, CRI plugin (ValidateRuntimeConfig; seen on Talos v1.13.0);
 * nvidia-container-toolkit v1.20.1, cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go.
 */
export const handlerLeftovers = (text: string): FindingText[] =>
  ways.flatMap(([pattern, finding]) => (pattern.test(text) ? [finding] : []));
