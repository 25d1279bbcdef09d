import { type Fault, faultOf } from "../../rules";
import texts from "../texts.json";

/** Texts of a part of containerd's configuration, as TOML or in a patch that has it as a text, and what comes of them. */
const ways: [text: RegExp, fault: Fault][] = [
  [/\bdefault_runtime_name *= *["']nvidia["']/, faultOf(texts.defaultRuntime)],
  [/\bruntimes\.["']?nvidia\b/, faultOf(texts.runtime)],
  [/\bio\.containerd\.nri\.v1\.nri["']? *\][^[]*\bdisable *= *true/, faultOf(texts.nri)],
];

/**
 * What of containerd's configuration was right as long as the image had NVIDIA's runtime, and is wrong on Talos ≥ 1.15. Source:
 * siderolabs/extensions#1222; containerd 2, CRI plugin (ValidateRuntimeConfig; seen on Talos v1.13.0); nvidia-container-toolkit v1.20.1,
 * cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go.
 */
export const handlerLeftovers = (text: string): Fault[] =>
  ways.flatMap(([written, fault]) => (written.test(text) ? [fault] : []));
