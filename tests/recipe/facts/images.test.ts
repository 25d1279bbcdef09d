import * as fs from "node:fs";
import * as path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { parse } from "yaml";
import { gpuStack } from "../../../components/kubernetes/index";
import { vllmImage } from "../../../components/recipe/facts/cuda";
import { ofComfyUi, ofVllm, samples } from "../../../components/recipe/facts/data/cuda.json";
import {
  helpers,
  processors,
  released,
  withoutDigest,
  workloads,
} from "../../../components/recipe/facts/data/images.json";
import { frameworks } from "../../../components/recipe/checks/workloads";
import pciCards from "../../../components/recipe/facts/data/pci-cards.json";
import type { WorkloadsSpec } from "../../../components/recipe/spec/index";
import type { WorkloadKind } from "../../../components/recipe/stack/workloads";
import { gpuWorkloads } from "../../../components/workloads/index";
import { Ollama } from "../../../components/workloads/ollama";
import { planOf } from "../../support/plans";
import { record, type Run } from "../../support/recorder";

const customImage = "registry.example/mine:1";
const monitoring = { dashboard: false };

/** Every image of the tables. */
const defaultImages = [
  ...Object.values(helpers),
  ...Object.values(workloads),
  ...samples.map(({ image }) => image),
  ...ofComfyUi.map(({ image }) => image),
  ...ofVllm.map(({ cuda }) => vllmImage(cuda)),
];

/** Images of all containers that a program registered. */
function imagesOf({ resources }: Run): string[] {
  const pods = resources.flatMap(({ inputs }) => inputs.spec?.template?.spec ?? []);
  return pods.flatMap((pod: any) => pod.containers.map(({ image }: any) => image as string));
}

const registerStack = (stack: string, changes: Record<string, unknown>): Promise<Run> =>
  record(
    () => void gpuStack("lab", planOf(stack, { monitoring, ...changes }), { dependsOn: [] }, {}),
  );

test.each([
  ["rtx5070ti", "validationMarkers"],
  ["rtx3090", "powerLimit"],
  ["rtx3090", "dcgmExporter"],
] as const)("in the stack %s, images.%s replaces the default image", async (stack, image) => {
  expect(imagesOf(await registerStack(stack, {}))).toContain(helpers[image]);
  const images = imagesOf(await registerStack(stack, { images: { [image]: customImage } }));
  expect(images).toContain(customImage);
  expect(images).not.toContain(helpers[image]);
});

test("pullImage replaces the default image that pulls models", async () => {
  const registerOllama = (pullImage?: string): Promise<Run> =>
    record(() => {
      const args = {
        models: ["llama3.2:3b"],
        runtimeClassName: "nvidia",
        gpuResourceName: "nvidia.com/gpu",
      };
      new Ollama("ollama", { ...args, ...(pullImage === undefined ? {} : { pullImage }) });
    });
  expect(imagesOf(await registerOllama()).sort()).toEqual([workloads.modelPull, workloads.ollama]);
  expect(imagesOf(await registerOllama(customImage))).toContain(customImage);
});

/** The shortest valid spec of each workload. If one is missing here, this file does not compile. */
const shortestSpecs: { [W in WorkloadKind]: NonNullable<WorkloadsSpec[W]> } = {
  ollama: { models: ["llama3.2:3b"] },
  comfyui: {},
  litellm: {},
  vllm: { model: "Qwen/Qwen2.5-7B-Instruct" },
  pods: { mine: { image: customImage } },
};

test("the default image of every workload is in the tables of images", async () => {
  const access = {
    runtimeClassName: pulumi.output("nvidia"),
    gpuResourceName: pulumi.output("nvidia.com/gpu"),
  };
  const plan = planOf("rtx5070ti", { workloads: shortestSpecs });
  const images = imagesOf(await record(() => void gpuWorkloads("lab", plan, access, [], {})));
  expect(images.length).toBeGreaterThanOrEqual(Object.keys(shortestSpecs).length - 1); // a pod has no default image
  expect(images.filter((image) => !defaultImages.includes(image))).toEqual([]);
});

test("the lab knows how to imitate every default image", () => {
  const file = path.join(__dirname, "../../../lab/machines/internal/node/programs/images.yaml");
  const imitations = parse(fs.readFileSync(file, "utf8")) as { image: string }[];
  const imitatedPatterns = imitations.map(
    ({ image }) => new RegExp(image.replace("(?i)", ""), "i"),
  );
  expect(imitatedPatterns.length).toBeGreaterThan(10);
  expect(
    defaultImages.filter((image) => !imitatedPatterns.some((pattern) => pattern.test(image))),
  ).toEqual([]);
});

const repositoryOf = (image: string): string => image.replace(/@.*$/, "").replace(/:[^:/]+$/, "");

test("every default image has a digest or is listed in withoutDigest", () => {
  const digest = /^[^@]+:[^@:/]+@sha256:[0-9a-f]{64}$/;
  const imagesWithoutDigest = defaultImages.filter((image) => !digest.test(image));
  const repositories = new Set(imagesWithoutDigest.map(repositoryOf));
  expect([...repositories].sort()).toEqual(withoutDigest.repositories);
  // The package's own pods run as root, so each of their images has a digest.
  expect(Object.values(helpers).filter((image) => !digest.test(image))).toEqual([]);
});

test("the tables have the processors of every default image", () => {
  const repositories = [...new Set(defaultImages.map(repositoryOf))];
  const repositoriesWithProcessors = [...processors.amd64, ...processors.amd64AndArm64];
  expect(repositoriesWithProcessors.toSorted()).toEqual(repositories.toSorted());
});

test("the checks' pattern of frameworks matches every image that the package chooses by the driver's CUDA", () => {
  const imagesChosenByCuda = [
    ...ofComfyUi.map(({ image }) => image),
    ...ofVllm.map(({ cuda }) => vllmImage(cuda)),
  ];
  expect(imagesChosenByCuda.filter((image) => !frameworks.test(image))).toEqual([]);
});

/** The month of a date such as `2026-06` or `2026.10.24`, counted from the year 0. */
function monthOf(date: string): number {
  const [year, month] = date.split(/[.-]/).map(Number);
  return year! * 12 + month!;
}

test.each(
  Object.entries({ ...released, vllm: ofVllm[0]?.released, comfyUi: ofComfyUi[0]?.released }),
)("the default image of %s is less than a year older than the list of cards", (_, month) => {
  // The date of the tables is that of the list of cards, which `npm run facts` renews together with the images.
  const age = monthOf(pciCards.version) - monthOf(month ?? "0-0");
  expect(age).toBeLessThan(12);
});
