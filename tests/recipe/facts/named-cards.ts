import type { Card } from "../../../components/recipe/facts/data/cards";
import type { GpuArchitecture } from "../../../components/recipe/spec/index";

/** A card by a name that people or drivers use, and the facts that the tables must give for it. */
export interface NamedCard extends Pick<Card, "computeCapability"> {
  name: string;
  architecture: GpuArchitecture;
  /** Class and vendor on the PCI bus. Default: not compared. */
  pciDevice?: "0300_10de" | "0302_10de";
}

/** Names as people write them, and as `lspci` prints them. */
export const cardsAsPeopleNameThem: NamedCard[] = [
  { name: "GTX 1080 Ti", architecture: "Pascal", computeCapability: "6.1", pciDevice: "0300_10de" },
  { name: "TITAN V", architecture: "Volta", computeCapability: "7.0", pciDevice: "0300_10de" },
  {
    name: "Tesla V100-SXM2-32GB",
    architecture: "Volta",
    computeCapability: "7.0",
    pciDevice: "0302_10de",
  },
  { name: "T4", architecture: "Turing", computeCapability: "7.5", pciDevice: "0302_10de" },
  {
    name: "RTX 2070 SUPER",
    architecture: "Turing",
    computeCapability: "7.5",
    pciDevice: "0300_10de",
  },
  { name: "A100", architecture: "Ampere", computeCapability: "8.0", pciDevice: "0302_10de" },
  { name: "RTX 3090", architecture: "Ampere", computeCapability: "8.6", pciDevice: "0300_10de" },
  { name: "L40S", architecture: "Ada", computeCapability: "8.9", pciDevice: "0302_10de" },
  {
    name: "NVIDIA GeForce RTX 4090",
    architecture: "Ada",
    computeCapability: "8.9",
    pciDevice: "0300_10de",
  },
  { name: "H100 NVL", architecture: "Hopper", computeCapability: "9.0", pciDevice: "0302_10de" },
  { name: "NVIDIA H200", architecture: "Hopper", computeCapability: "9.0", pciDevice: "0302_10de" },
  { name: "B200", architecture: "Blackwell", computeCapability: "10.0", pciDevice: "0302_10de" },
  {
    name: "rtx 5070 ti",
    architecture: "Blackwell",
    computeCapability: "12.0",
    pciDevice: "0300_10de",
  },
  {
    name: "RTX PRO 6000",
    architecture: "Blackwell",
    computeCapability: "12.0",
    pciDevice: "0300_10de",
  },
  { name: "GB10", architecture: "Blackwell", computeCapability: "12.1", pciDevice: "0300_10de" },
  { name: "10de:1b06", architecture: "Pascal", computeCapability: "6.1", pciDevice: "0300_10de" },
  {
    name: "10DE:2C05",
    architecture: "Blackwell",
    computeCapability: "12.0",
    pciDevice: "0300_10de",
  },
  {
    name: "Tesla PG503-216",
    architecture: "Volta",
    computeCapability: "7.0",
    pciDevice: "0302_10de",
  },
  {
    name: "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)",
    architecture: "Ampere",
    computeCapability: "8.6",
    pciDevice: "0300_10de",
  },
  {
    name: "AD107M [GeForce RTX 4060 Max-Q / Mobile]",
    architecture: "Ada",
    computeCapability: "8.9",
    pciDevice: "0300_10de",
  },
  {
    name: "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GP102 [GeForce GTX 1080 Ti] [10de:1b06] (rev a1)",
    architecture: "Pascal",
    computeCapability: "6.1",
    pciDevice: "0300_10de",
  },
];

/**
 * Names that drivers print: README.md of NVIDIA/open-gpu-kernel-modules 595.45.04 (all of its 222 were tried
 * once), and nvidia-smi of systems in public issues.
 */
export const cardsAsDriversNameThem: NamedCard[] = [
  { name: "NVIDIA GeForce GTX 1060 6GB", architecture: "Pascal", computeCapability: "6.1" },
  { name: "Quadro P2000", architecture: "Pascal", computeCapability: "6.1" },
  { name: "Tesla M40 24GB", architecture: "Maxwell", computeCapability: "5.2" },
  { name: "NVIDIA TITAN X (Pascal)", architecture: "Pascal", computeCapability: "6.1" },
  { name: "Tesla V100-SXM2-32GB-LS", architecture: "Volta", computeCapability: "7.0" },
  { name: "Quadro RTX 4000", architecture: "Turing", computeCapability: "7.5" },
  {
    name: "NVIDIA GeForce RTX 2070 Super with Max-Q Design",
    architecture: "Turing",
    computeCapability: "7.5",
  },
  { name: "NVIDIA T1000", architecture: "Turing", computeCapability: "7.5" },
  { name: "NVIDIA T400 4GB", architecture: "Turing", computeCapability: "7.5" },
  { name: "NVIDIA A10G", architecture: "Ampere", computeCapability: "8.6" },
  { name: "NVIDIA A800 40GB Active", architecture: "Ampere", computeCapability: "8.0" },
  { name: "NVIDIA A100-PG509-200", architecture: "Ampere", computeCapability: "8.0" },
  { name: "NVIDIA RTX A4000 Laptop GPU", architecture: "Ampere", computeCapability: "8.6" },
  { name: "NVIDIA GeForce RTX 2050", architecture: "Ampere", computeCapability: "8.6" },
  { name: "NVIDIA GeForce RTX 4060 Laptop GPU", architecture: "Ada", computeCapability: "8.9" },
  { name: "NVIDIA GeForce RTX 3050 A Laptop GPU", architecture: "Ada", computeCapability: "8.9" },
  { name: "NVIDIA RTX 6000 Ada Generation", architecture: "Ada", computeCapability: "8.9" },
  { name: "NVIDIA H20", architecture: "Hopper", computeCapability: "9.0" },
  { name: "NVIDIA GH200 480GB", architecture: "Hopper", computeCapability: "9.0" },
  { name: "NVIDIA GB200", architecture: "Blackwell", computeCapability: "10.0" },
  { name: "NVIDIA B300 SXM6 AC", architecture: "Blackwell", computeCapability: "10.3" },
  { name: "NVIDIA RTX PRO 4500 Blackwell", architecture: "Blackwell", computeCapability: "12.0" },
  {
    name: "NVIDIA GeForce RTX 5070 Ti Laptop GPU",
    architecture: "Blackwell",
    computeCapability: "12.0",
  },
];
