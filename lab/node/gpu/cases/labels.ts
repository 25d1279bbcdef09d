import { nodeName } from "../shape";
import { held, wrong } from "../../outcome";
import type { Case } from "../case";

/** Seconds until the labels are there: found, told, and put on the node. */
const labelled = 60;

/** What is shown of the labels, in this order: what each prefix is followed by. */
const shown = [
  "gpu.product",
  "gpu.count",
  "gpu.memory",
  "gpu.family",
  "gpu.compute.major",
  "cuda.driver-version.full",
  "gpu.mode",
  "gpu.machine",
  "mig.capable",
  "mps.capable",
  "vgpu.present",
];
const prefix = "nvidia.com/";
const onBus = /^feature\.node\.kubernetes\.io\/pci-\S*10de\S*\.present$/;

const labels: Case = {
  id: "labels",
  title: "labels of GPU feature discovery and Node Feature Discovery",
  run: async (stand, say) => {
    await stand.become({}, say);
    let now: Record<string, string> = {};
    const there = await stand.until(labelled, async () => {
      now = (await stand.cluster.nodes())[nodeName]?.metadata?.labels ?? {};
      return now[`${prefix}gpu.product`] !== undefined && Object.keys(now).some((name) => onBus.test(name));
    });
    const said = [
      ...shown.map((name) => `${name} ${now[`${prefix}${name}`] ?? "missing"}`),
      ...Object.keys(now).filter((name) => onBus.test(name)),
    ].join("; ");
    const right = there && now[`${prefix}gpu.count`] === String(stand.count);
    return (right ? held : wrong)(said);
  },
};

/** What the programs that look for cards write on the node. */
export const labelCases: readonly Case[] = [labels];
