import type { FindingText } from "../../rules";

/**
 * Texts of a part of containerd's configuration, as TOML or in a patch that has it as a text, and what comes of them.
 */
const ways: [text: RegExp, fault: FindingText][] = [
  [
    /\bdefault_runtime_name *= *["']nvidia["']/,
    {
      problem: "makes nvidia containerd's default runtime, which no image of Talos ≥ 1.15 has",
      why: "containerd refuses to start pods at all, and the kubelet never comes up",
      remedy: "leave it out: pods that ask for a GPU get it without a runtime of NVIDIA's",
    },
  ],
  [
    /\bruntimes\.["']?nvidia\b/,
    {
      problem: "adds to containerd's runtime nvidia, which no image of Talos ≥ 1.15 has",
      why: "it would be a runtime without a program, and pods of its RuntimeClass would not start",
      remedy: "leave it out",
    },
  ],
  [
    /\bio\.containerd\.nri\.v1\.nri["']? *\][^[]*\bdisable *= *true/,
    {
      problem: "turns containerd's NRI off",
      why: "the operator's toolkit connects to it, and its pod would fail with `failed to find valid nri socket`: no pod would see a card",
      remedy: "leave it out: Talos ≥ 1.14 has it on",
    },
  ],
];

/**
 * Settings of containerd that were right as long as the image had NVIDIA's runtime, and are wrong on Talos ≥ 1.15.
 * Source: siderolabs/extensions#1222; containerd 2, CRI plugin (ValidateRuntimeConfig; seen on Talos v1.13.0);
 * nvidia-container-toolkit v1.20.1, cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go.
 */
export const handlerLeftovers = (text: string): FindingText[] =>
  ways.flatMap(([written, fault]) => (written.test(text) ? [fault] : []));
