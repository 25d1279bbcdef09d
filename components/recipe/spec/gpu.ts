/** Architecture of a card that the package's tables lack. */
export const GpuArchitecture = {
  Maxwell: "Maxwell",
  Pascal: "Pascal",
  Volta: "Volta",
  Turing: "Turing",
  Ampere: "Ampere",
  Ada: "Ada",
  Hopper: "Hopper",
  Blackwell: "Blackwell",
} as const;
/** An architecture, as text. */
export type GpuArchitecture = (typeof GpuArchitecture)[keyof typeof GpuArchitecture];

/** Cards of one model in a machine. */
export interface GpuSpec {
  /**
   * Name of the card as `nvidia-smi -L` prints it, with or without vendor and family, e.g. `NVIDIA H100 NVL`. You may
   * instead write the card's PCI ID as `lspci -nn` prints it, e.g. `10de:1b06`.
   * @example `RTX 5070 Ti`
   */
  model: string;
  /**
   * Architecture of the card. Needed only if the package's tables lack the card.
   * @default the architecture in the package's tables
   * @example `Blackwell`
   */
  architecture?: GpuArchitecture;
  /**
   * Memory of one card, as `nvidia-smi` shows it. Needed only if the package's tables lack the card, or if the model
   * exists with different amounts of memory (e.g. RTX 4060 Ti, RTX 3060).
   * @default the memory in the package's tables, else unknown
   * @example `16Gi`
   */
  memory?: string;
  /**
   * Number of cards of this model in the machine.
   * @default `1`
   * @example `2`
   */
  count?: number;
}
