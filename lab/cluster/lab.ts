import type { ClusterSpec } from "../../components/recipe";
import type { FixId } from "../../components/diagnosis";
import type { ChartRepository } from "../charts/repository";
import type { ControlPlane } from "../controlplane";
import type { Factory } from "../factory";
import type { Machines } from "../machines";
import type { LabOmni } from "../omni";
import type { LabOptions } from "../options";
import type { Tools } from "../tools";
import type { Show } from "../show";
import type { RealImages } from "./real-images";
import type { LabParts } from "./real-machines";

/** A lab as it comes up: each phase adds what the next ones need. */
export interface Lab extends LabParts {
  options: LabOptions;
  /** Output that shows the phases. Default: standard error, without details. */
  show?: Show;
  /** Later versions of the stack (`--then`). */
  laterSpecs?: readonly ClusterSpec[];
  /** Configuration of the stack, by key. */
  config: Record<string, unknown>;
  /** Assumptions about the stack, in words. */
  assumptions?: string[];
  /** Fixes that are left out of the stack's plan, until a repair adds them. */
  without: FixId[];
  tools: Tools;
  /** Images of Talos that real machines run; undefined where the machines are emulated. */
  talos?: RealImages;
  controlPlane: ControlPlane;
  /** The emulated Image Factory of emulated machines. */
  factory?: Factory;
  /** Address of the Image Factory for the stack. */
  factoryUrl: string;
  /** The lab's chart repositories; undefined where charts come from their own. */
  charts?: ChartRepository;
  machines: Machines;
  /** Omni, if it manages a machine of the stack. */
  omni?: LabOmni;
}
