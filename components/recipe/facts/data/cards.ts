/**
 * What is known of NVIDIA's cards beyond their architecture. Cards that are not here are in data/pci-cards.json, which knows
 * the architecture alone. Adding one is a line.
 * Sources: developer.nvidia.com/cuda-gpus (compute capability), NVIDIA's data sheets (memory, board power, PCI class:
 * 0300 with display outputs, 0302 without), `nvidia-smi` where a system was seen (memory in MiB; power ranges of the H100 SXM and the H200).
 * `power.max` is stated where it is the same on every board (data-center cards: their board power); GeForce boards differ
 * by maker, so only the reference design's default stands here.
 */
import type { ModuleFlavour } from "../../spec/index";
import type { MigGeometryName } from "./mig";

/** Power of a card, in watts. */
export interface Power {
  /** Board power as it comes from NVIDIA, in watts. */
  default: number;
  /** Least and greatest limit that the card accepts, in watts; undefined: differs by board. */
  min?: number;
  max?: number;
  /** Least limit that boards were seen to take, in watts, where others may take less: good for a note, never for a refusal. */
  seenFrom?: number;
}

/** Market of a card: the open modules of old drivers know data-center cards only. */
export type CardFamily = "geforce" | "workstation" | "datacenter" | "spark";

/** What is known of a card. */
export interface Card {
  /** Name as NVIDIA prints it, without vendor and family. */
  model: string;
  family: CardFamily;
  architecture: string;
  computeCapability: string;
  /** Undefined where the tables do not say it. */
  memoryMiB?: number;
  /** Class and vendor as Node Feature Discovery labels them, e.g. `0300_10de`. */
  pciDevice: string;
  power?: Power;
  mig?: MigGeometryName;
  /** Whether it may have MIG although no geometry of it is known. */
  mayHaveMig?: boolean;
  /** Whether the stack describes it, and no table has it. */
  described?: boolean;
  /** Flavours where this card differs from its architecture. */
  flavours?: ModuleFlavour[];
  /** Driver where this card needs a newer one than its architecture. */
  minDriver?: string;
  /** Kernel arguments that it needs. */
  kernelArgs?: string[];
}

interface Line {
  architecture: string;
  computeCapability: string;
  family: CardFamily;
}

type Rest = Partial<Pick<Card, "mig" | "flavours" | "minDriver" | "kernelArgs">>;

/** A line of cards: [model, memory in MiB, board power in watts or its range, what else differs]. */
function line(common: Line, display: boolean, cards: [string, number, (Power | number | undefined)?, Rest?][]): Card[] {
  return cards.map(([model, memoryMiB, power, rest]) => ({
    model,
    ...common,
    memoryMiB,
    pciDevice: display ? "0300_10de" : "0302_10de",
    ...(power === undefined ? {} : { power: typeof power === "number" ? { default: power } : power }),
    ...rest,
  }));
}

const board = (watts: number): Power => ({ default: watts, max: watts });

const pascal: Line = { architecture: "Pascal", computeCapability: "6.1", family: "geforce" };
const turing: Line = { architecture: "Turing", computeCapability: "7.5", family: "geforce" };
const ampere: Line = { architecture: "Ampere", computeCapability: "8.6", family: "geforce" };
const ada: Line = { architecture: "Ada", computeCapability: "8.9", family: "geforce" };
const hopper: Line = { architecture: "Hopper", computeCapability: "9.0", family: "datacenter" };
const blackwell: Line = { architecture: "Blackwell", computeCapability: "12.0", family: "geforce" };

const datacenter = (of: Line, computeCapability: string = of.computeCapability): Line => ({
  ...of,
  computeCapability,
  family: "datacenter",
});
const workstation = (of: Line): Line => ({ ...of, family: "workstation" });

/** Every card of which more is known than its architecture. */
export const cards: Card[] = [
  ...line({ architecture: "Maxwell", computeCapability: "5.2", family: "geforce" }, true, [
    ["GTX 980 Ti", 6144, 250],
    ["GTX 980", 4096, 165],
    ["GTX 970", 4096, 145],
    ["GTX 960", 2048, 120],
  ]),
  ...line({ architecture: "Maxwell", computeCapability: "5.2", family: "datacenter" }, false, [
    ["M40", 11520, board(250)],
  ]),
  ...line(pascal, true, [
    ["GTX 1050 Ti", 4096, 75],
    ["GTX 1060", 6144, 120],
    ["GTX 1070", 8192, 150],
    ["GTX 1070 Ti", 8192, 180],
    ["GTX 1080", 8192, 180],
    ["GTX 1080 Ti", 11264, 250],
    ["TITAN Xp", 12288, 250],
  ]),
  ...line(datacenter(pascal), false, [
    ["P4", 7680, board(75)],
    ["P40", 23040, board(250)],
  ]),
  ...line(datacenter(pascal, "6.0"), false, [
    ["P100-PCIE-16GB", 16384, board(250)],
    ["P100-SXM2-16GB", 16384, board(300)],
  ]),
  ...line({ architecture: "Volta", computeCapability: "7.0", family: "workstation" }, true, [["TITAN V", 12288, 250]]),
  ...line({ architecture: "Volta", computeCapability: "7.0", family: "datacenter" }, false, [
    ["V100-PCIE-16GB", 16384, board(250)],
    ["V100-PCIE-32GB", 32768, board(250)],
    ["V100-SXM2-16GB", 16384, board(300)],
    ["V100-SXM2-32GB", 32768, board(300)],
  ]),
  ...line(turing, true, [
    ["GTX 1650", 4096, 75],
    ["GTX 1660 SUPER", 6144, 125],
    ["GTX 1660 Ti", 6144, 120],
    ["RTX 2060", 6144, 160],
    ["RTX 2060 SUPER", 8192, 175],
    ["RTX 2070", 8192, 175],
    ["RTX 2070 SUPER", 8192, 215],
    ["RTX 2080", 8192, 215],
    ["RTX 2080 SUPER", 8192, 250],
    ["RTX 2080 Ti", 11264, 250],
    ["TITAN RTX", 24576, 280],
  ]),
  ...line(workstation(turing), true, [
    ["RTX 4000", 8192, 160],
    ["RTX 6000", 24576, 260],
  ]),
  ...line(datacenter(turing), false, [["T4", 15360, board(70)]]),
  ...line(ampere, true, [
    ["RTX 3050", 8192, 130],
    ["RTX 3060", 12288, 170],
    ["RTX 3060 Ti", 8192, 200],
    ["RTX 3070", 8192, 220],
    ["RTX 3070 Ti", 8192, 290],
    ["RTX 3080", 10240, 320],
    ["RTX 3080 Ti", 12288, 350],
    // nvidia-smi -q of a board with 350 W: 100 to 385 W; benchmarks of a Founders Edition set 330 to 350 W (noonghunna/club-3090#698).
    ["RTX 3090", 24576, { default: 350, seenFrom: 100 }],
    ["RTX 3090 Ti", 24564, 450],
  ]),
  ...line(workstation(ampere), true, [
    ["RTX A2000", 6138, board(70)],
    ["RTX A4000", 16376, board(140)],
    ["RTX A5000", 24564, board(230)],
    ["RTX A6000", 49140, board(300)],
  ]),
  ...line(datacenter(ampere), false, [
    ["A2", 15356, board(60)],
    ["A10", 23028, board(150)],
    ["A16", 15356, board(250)],
    ["A40", 46068, board(300)],
  ]),
  ...line(datacenter(ampere, "8.0"), false, [
    ["A30", 24576, board(165), { mig: "A30" }],
    ["A100-PCIE-40GB", 40960, board(250), { mig: "A100-40" }],
    ["A100-SXM4-40GB", 40960, board(400), { mig: "A100-40" }],
    ["A100 80GB PCIe", 81920, board(300), { mig: "A100-80" }],
    ["A100-SXM4-80GB", 81920, board(400), { mig: "A100-80" }],
  ]),
  ...line(ada, true, [
    ["RTX 4060", 8188, 115],
    ["RTX 4060 Ti", 8188, 160],
    ["RTX 4070", 12282, 200],
    ["RTX 4070 SUPER", 12282, 220],
    ["RTX 4070 Ti", 12282, 285],
    ["RTX 4070 Ti SUPER", 16376, 285],
    ["RTX 4080", 16376, 320],
    ["RTX 4080 SUPER", 16376, 320],
    ["RTX 4090", 24564, 450],
  ]),
  ...line(workstation(ada), true, [
    ["RTX 4000 Ada Generation", 20475, board(130)],
    ["RTX 5000 Ada Generation", 32760, board(250)],
    ["RTX 6000 Ada Generation", 49140, board(300)],
  ]),
  ...line(datacenter(ada), false, [
    ["L4", 23034, board(72)],
    ["L40", 46068, board(300)],
    ["L40S", 46068, board(350)],
  ]),
  ...line(hopper, false, [
    ["H100 PCIe", 81559, board(350), { mig: "H100-80" }],
    ["H100 80GB HBM3", 81559, { default: 700, min: 200, max: 700 }, { mig: "H100-80" }],
    ["H100 NVL", 95830, board(400), { mig: "H100-94" }],
    ["H200", 143771, { default: 700, min: 200, max: 700 }, { mig: "H200" }],
    ["H200 NVL", 143771, board(600), { mig: "H200 NVL" }],
  ]),
  ...line(blackwell, true, [
    ["RTX 5050", 8151, 130],
    ["RTX 5060", 8151, 145],
    ["RTX 5060 Ti", 16311, 180],
    ["RTX 5070", 12227, 250],
    ["RTX 5070 Ti", 16303, 300],
    ["RTX 5080", 16303, 360],
    ["RTX 5090", 32607, 575],
  ]),
  ...line(workstation(blackwell), true, [
    ["RTX PRO 6000 Blackwell Workstation Edition", 97887, board(600), { mig: "RTX PRO 6000" }],
    ["RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887, board(300), { mig: "RTX PRO 6000" }],
  ]),
  ...line(datacenter(blackwell), false, [
    ["RTX PRO 6000 Blackwell Server Edition", 97887, board(600), { mig: "RTX PRO 6000 Server" }],
  ]),
  ...line(datacenter(blackwell, "10.0"), false, [["B200", 183359, board(1000), { mig: "B200" }]]),
  // DGX Spark: Talos' own documentation names the proprietary modules and `arm64.nobti` (talos#13019), against NVIDIA's
  // README for Blackwell; elsewhere the proprietary ones of 580.173.02 failed where the open ones ran (Start9Labs/start-technologies
  // pull request 3693), so both are let be. CUDA 12.9 was the first to know 12.1; the first driver for it is of branch 580.
  ...line({ architecture: "Blackwell", computeCapability: "12.1", family: "spark" }, true, [
    [
      "GB10",
      122572,
      undefined,
      { flavours: ["proprietary", "open"], minDriver: "580.65.06", kernelArgs: ["arm64.nobti"] },
    ],
  ]),
];

/** Names under which cards are also known, to the model of this table or of data/pci-cards.json. */
export const cardAliases: Record<string, string> = {
  "RTX PRO 6000": "RTX PRO 6000 Blackwell Workstation Edition",
  "RTX PRO 6000 Blackwell": "RTX PRO 6000 Blackwell Workstation Edition",
  "RTX PRO 6000 Server": "RTX PRO 6000 Blackwell Server Edition",
  "RTX PRO 4500 32GB": "RTX PRO 4500 Blackwell",
  "RTX PRO 4500 Blackwell 32GB": "RTX PRO 4500 Blackwell",
  "RTX 6000 Ada": "RTX 6000 Ada Generation",
  "RTX 5000 Ada": "RTX 5000 Ada Generation",
  "RTX 4000 Ada": "RTX 4000 Ada Generation",
  H100: "H100 80GB HBM3",
  "H100 SXM": "H100 80GB HBM3",
  "H100 SXM5": "H100 80GB HBM3",
  "H100 80GB PCIe": "H100 PCIe",
  "H100 SXM5 80GB": "H100 80GB HBM3",
  "H100L 94GB": "H100 NVL",
  "H100 94GB": "H100 NVL",
  "H200 SXM": "H200",
  "H200 SXM 141GB": "H200",
  A100: "A100-SXM4-80GB",
  "A100 80GB": "A100-SXM4-80GB",
  "A100 40GB": "A100-SXM4-40GB",
  "A100 PCIe 40GB": "A100-PCIE-40GB",
  "A100 PCIe 80GB": "A100 80GB PCIe",
  V100: "V100-SXM2-16GB",
  P100: "P100-PCIE-16GB",
  "DGX Spark": "GB10",
  "DGX Spark GB10": "GB10",
  // Names in short, as with the A100; what is said of the architecture holds for each of them.
  A800: "A800-SXM4-80GB",
  // 10de:2338 by pci.ids. Its driver's name for it was not seen: concluded from that of the 80 GB card.
  "H100 96GB HBM3": "H100 SXM5 96GB",
  // A V100 whose driver prints its board's code: 10de:1df0, 32 GB, PCIe (akash-network/provider-configs pull request 90).
  "PG500-216": "V100-PCIE-32GB",
  "A30 PCIe": "A30",
  "V100-SXM2-16GB-LS": "V100-SXM2-16GB",
  "V100-SXM2-32GB-LS": "V100-SXM2-32GB",
  // Names that a driver prints and the list of PCI IDs has otherwise. Source: NVIDIA/open-gpu-kernel-modules 595.45.04, README.md.
  "A100-SXM-80GB": "A100-SXM4-80GB",
  "A100-SXM-40GB": "A100-SXM4-40GB",
  "A100-PG509-200": "A100-SXM4-40GB",
  "PG509-210": "A100-SXM4-80GB",
  "A800 80GB PCIe LC": "A800 80GB PCIe",
  "A800 40GB Active": "A800 40GB PCIe",
  AX800: "AX800 Converged Accelerator",
  "H20-3e": "H20 HBM3e",
  "H800 NVL": "H800L 94GB",
  "RTX 3050 OEM": "RTX 3050",
  B300: "B300 SXM6 AC",
  GH200: "GH200 120GB",
};
