/** Architecture of a card that no table has. */
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

/** A kind of card in a machine. */
export interface GpuSpec {
  /**
   * Name as `nvidia-smi -L` prints it, with or without vendor and family, e.g. `NVIDIA H100 NVL`, or PCI ID as `lspci -nn` prints it,
   * e.g. `10de:1b06`.
   * @example `RTX 5070 Ti`
   */
  model: string;
  /**
   * Architecture of a card that the tables do not have.
   * @default by the tables
   * @example `Blackwell`
   */
  architecture?: GpuArchitecture;
  /**
   * Memory of one card. Needed if the tables lack the card, or if it exists with several sizes (e.g. RTX 4060 Ti, RTX
   * 3060). nvidia-smi shows it.
   * @default by the tables, else unknown
   * @example `16Gi`
   */
  memory?: string;
  /**
   * Number of such cards in the machine.
   * @default `1`
   * @example `2`
   */
  count?: number;
}
