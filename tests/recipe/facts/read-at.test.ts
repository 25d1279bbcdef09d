import * as semver from "semver";
import { findingsOf } from "../../../components/recipe";
import { exporterRelease } from "../../../components/recipe/cluster/exporter";
import { cards } from "../../../components/recipe/facts/data/cards";
import dra from "../../../components/recipe/facts/data/charts/dra-driver-nvidia-gpu.json";
import operator from "../../../components/recipe/facts/data/charts/gpu-operator.json";
import plugin from "../../../components/recipe/facts/data/charts/nvidia-device-plugin.json";
import objects from "../../../components/recipe/facts/data/kubernetes-objects.json";
import variables from "../../../components/recipe/facts/data/operand-variables.json";
import { olderUpgradeCall, provider } from "../../../components/recipe/facts/data/since.json";
import { readTo } from "../../../components/recipe/facts/data/talos-rules.json";
import { cardOf } from "../../../components/recipe/facts/find-card";
import { minorRows } from "../../../components/recipe/facts/talos-release";
import { releases as operatorDefaults } from "../../../lab/charts/data/gpu-operator.json";
import manifest from "../../../components/package.json";
import { readStackFile } from "../../../stacks/stack-file";
import { files, read } from "../../docs/pages";
import { planOf } from "../../support/plans";

// Facts that a new release may invalidate, and that no tool renews. Each test fails once the tables have the
// release, until a person has read the source again.

const newestOf = ({ releases }: { releases: { version: string }[] }): string =>
  releases.at(-1)!.version;
const newestVersions: Readonly<Record<string, string>> = {
  "gpu-operator": newestOf(operator),
  "nvidia-device-plugin": newestOf(plugin),
};

describe("facts of the charts", () => {
  test.each(
    Object.entries({ "kubernetes-objects.json": objects, "operand-variables.json": variables }),
  )("%s was last reviewed at the newest operator and plugin", (_, { readAt }) =>
    expect(readAt).toEqual(newestVersions),
  );

  test.each(operatorDefaults)(
    "the metrics of GPU Operator $version have the names of its exporter's release",
    ({ version, values }) => {
      const exporterImageVersion = (values as { dcgmExporter: { version: string } }).dcgmExporter
        .version;
      const exporterVersion = /-(\d+\.\d+\.\d+)/.exec(exporterImageVersion)![1]!;
      const plan = planOf("rtx5070ti", { gpuOperator: { version: `v${version}` } });
      const assumedVersion = exporterRelease(plan.kubernetes);
      // These releases of the exporter renamed a metric.
      for (const renamingVersion of ["4.8.3", "4.9.0"])
        expect({
          renamingVersion,
          hasNewName: semver.gte(assumedVersion, renamingVersion),
        }).toEqual({
          renamingVersion,
          hasNewName: semver.gte(exporterVersion, renamingVersion),
        });
    },
  );

  test("the newest operator is among those whose defaults the lab has", () =>
    expect(newestOf({ releases: operatorDefaults })).toBe(newestVersions["gpu-operator"]));

  test("the message on supported operator releases names the newest release", () => {
    const texts = files.filter((file) => /^components\/recipe\/.*\.ts$/.test(file)).map(read);
    const matches = texts.flatMap((text) => [
      ...text.matchAll(/NVIDIA supports ([\d.]+), [^`]*\(NVIDIA's platform support/g),
    ]);
    expect(matches.map(([, minor]) => minor)).toEqual([
      newestVersions["gpu-operator"]!.replace(/\.\d+$/, ""),
    ]);
  });

  /** The row of README's table with this name. */
  const readmeRow = (name: string): string =>
    read("README.md")
      .split("\n")
      .find((line) => line.startsWith(`| ${name} |`))!;
  const isAccepted = (stack: string, version: string): boolean =>
    !findingsOf({ ...readStackFile(stack), gpuOperator: { version } }).some(
      ({ field }) => field === "gpuOperator.version",
    );

  test.each([
    ["rtx5070ti", "v24.6.0", "v24.3.0", "v24.6.0 or newer"],
    ["modern", "v26.3.1", "v26.3.0", "on Talos ≥ 1.13, v26.3.1 or newer"],
    ["next", "v26.7.0", "v26.3.3", "on 1.15, v26.7.0 or newer"],
  ])(
    "as README says of the operator, the stack %s accepts %s and refuses %s",
    (stack, acceptedVersion, refusedVersion, readmeText) => {
      expect(readmeRow("GPU Operator")).toContain(readmeText);
      expect(isAccepted(stack, acceptedVersion)).toBe(true);
      expect(isAccepted(stack, refusedVersion)).toBe(false);
    },
  );

  test.each([
    ["or the device plugin", "devicePlugin", "0.11.0", "0.10.0"],
    ["LeaderWorkerSet", "leaderWorkerSet", "0.8.0", "0.7.0"],
  ])(
    "as README says in the row %j, %s accepts %s and refuses %s",
    (name, field, oldestVersion, tooOldVersion) => {
      const versionFindings = (version: string) =>
        findingsOf({ ...readStackFile("large"), [field]: { version } }).filter(
          (finding) => finding.field === `${field}.version`,
        );
      expect(readmeRow(name)).toContain(oldestVersion);
      expect(versionFindings(oldestVersion)).toEqual([]);
      expect(versionFindings(tooOldVersion)).toHaveLength(1);
    },
  );

  test("README's row of the DRA driver has the driver's newest release", () =>
    expect(readmeRow("or the DRA driver")).toContain(`| ${newestOf(dra)},`));
});

describe("facts of Talos", () => {
  const minor = minorRows.at(-1)!.minor;

  test("the rules of Talos' own validation were read at the newest minor", () =>
    expect(readTo).toBe(minor));

  test("the machinery in the Talos provider was read at the version that the package asks for", () =>
    expect(manifest.dependencies["@pulumiverse/talos"]).toBe(provider.asked));

  test("every Talos minor in the tables has the older upgrade call, which keeps kernel arguments", () =>
    expect(olderUpgradeCall.until).toBeGreaterThanOrEqual(minor));
});

describe("a card that a stack describes", () => {
  /** A card that the tables lack, with the model name of a row and more text, as nvidia-smi prints it. */
  const describedCard = (model: string, architecture: string) =>
    cardOf({ model: `${model} Unheard Of`, architecture: architecture as never });

  // A Spark has a name of its own, and NVIDIA counts TITAN V among the Quadro cards of its chip.
  test.each(cards.filter(({ family, model }) => family !== "spark" && model !== "TITAN V"))(
    "has the family and the device class of a $model if its name begins with that model",
    (card) => {
      const similarCard = describedCard(card.model, card.architecture)!;
      expect(similarCard.described).toBe(true);
      expect(similarCard.family).toBe(card.family);
      expect(similarCard.pciDevice).toBe(card.pciDevice);
    },
  );

  test.each(["RTX 6090", "NVIDIA GeForce RTX 6090"])("is a GeForce if its name is %s", (model) =>
    expect(cardOf({ model, architecture: "Blackwell" })!.family).toBe("geforce"),
  );
});
