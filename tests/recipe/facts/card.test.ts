import {
  architectureOf,
  cardOf,
  supportsCard,
  findCard,
  flavoursOf,
  isOfArm64,
  lastCudaOf,
  memorySizes,
  migGeometries,
  migOf,
  openModulesRefuse,
  powerRangeOf,
} from "../../../components/recipe/facts/card";
import { architectures } from "../../../components/recipe/facts/data/architectures.json";
import { cardAliases, cards, type Card } from "../../../components/recipe/facts/data/cards";
import chips from "../../../components/recipe/facts/data/chips.json";
import mig from "../../../components/recipe/facts/data/mig.json";
import { GpuArchitecture, ModuleFlavour } from "../../../components/recipe/spec/index";
import { architectureOfChip, listedChips } from "../../../components/recipe/facts/pci-cards";
import { cardsAsDriversNameThem, cardsAsPeopleNameThem } from "./named-cards";

/** The row of a card. Fails if the tables lack it. */
const card = (model: string): Card => {
  const row = findCard(model);
  if (!row) throw new Error(model);
  return row;
};

test.each([...cardsAsPeopleNameThem, ...cardsAsDriversNameThem])(
  "$name has architecture $architecture and compute capability $computeCapability",
  ({ name, ...expectedFacts }) => expect(card(name)).toMatchObject(expectedFacts),
);

test.each([
  ["RTX 4060 Ti 8GB", "RTX 4060 Ti"],
  ["L40S 48GB", "L40S"],
  ["rtx3090", "RTX 3090"],
  ["RTX 4090 Mobile", "RTX 4090 Laptop GPU"],
  ["RTX PRO 5000", "RTX PRO 5000 Blackwell"],
  ["NVIDIA H100-SXM5-80GB", "H100 80GB HBM3"],
])("the name %s finds the card %s", (model, expectedModel) =>
  expect(card(model).model).toBe(expectedModel),
);

test.each([
  ["an unknown model", "RTX 9090"],
  ["a memory that the model lacks", "H100 64GB"],
  ["a virtual GPU", "GRID A100-40C"],
  ["a very long name", `RTX ${"9".repeat(100_000)}`],
])("no card is found for %s", (_, name) => expect(findCard(name)).toBeUndefined());

test.each([
  ["GH200 480GB", ["open"]],
  ["GH200", ["open"]],
  ["GH200 144G HBM3e", ["open"]],
  ["H200", ["open", "proprietary"]],
])("the GPU of a %s runs with the modules %j", (model, flavours) =>
  expect(flavoursOf(card(model))).toEqual(flavours),
);

test("the stack's description of a card counts only if the tables lack the card", () => {
  const describedCard = cardOf({ model: "RTX 0000", architecture: "Blackwell", memory: "48Gi" });
  expect(describedCard).toMatchObject({
    architecture: "Blackwell",
    memoryMiB: 49152,
    described: true,
  });
  expect(flavoursOf(describedCard!)).toEqual(["open"]);
  expect(cardOf({ model: "RTX 0000" })).toBeUndefined();
  expect(cardOf({ model: "RTX 3090", architecture: "Blackwell" })?.architecture).toBe("Ampere");
});

test("similar names of cards, such as RTX 4000 and RTX 4000 Ada, find different cards", () => {
  expect(card("RTX 4070").model).toBe("RTX 4070");
  expect(card("RTX 4070 Ti SUPER").model).toBe("RTX 4070 Ti SUPER");
  expect(card("RTX 4000").architecture).toBe("Turing");
  expect(card("RTX 4000 Ada").architecture).toBe("Ada");
});

test("every card has a unique name, which finds the card", () => {
  const models = cards.map(({ model }) => model);
  expect(new Set(models).size).toBe(models.length);
  for (const row of cards) expect(findCard(row.model)).toBe(row);
});

test("every card has a known architecture", () => {
  for (const row of cards) expect(() => architectureOf(row)).not.toThrow();
});

test("every card belongs to a known family", () => {
  for (const { family } of cards)
    expect(["geforce", "workstation", "datacenter", "spark"]).toContain(family);
});

test("every card has at least one memory size, and each size exceeds 1 GiB", () => {
  for (const row of cards) {
    expect(memorySizes(row)).not.toEqual([]);
    expect(Math.min(...memorySizes(row))).toBeGreaterThan(1024);
  }
});

test("every MIG geometry that the tables name exists", () => {
  const geometryNames = [
    ...cards.flatMap((row) => row.mig ?? []),
    ...Object.values(mig.ofListedCards),
  ];
  expect(geometryNames.filter((name) => !Object.hasOwn(migGeometries, name))).toEqual([]);
});

test("the tables have exactly the architectures of the configuration", () => {
  const architectureNames = Object.values(GpuArchitecture);
  expect(architectures.map(({ name }) => name)).toEqual(architectureNames);
  expect(Object.values(chips.architectures)).toEqual(architectureNames);
});

test("every module flavour of an architecture exists", () => {
  for (const { flavours } of architectures)
    expect(Object.values(ModuleFlavour)).toEqual(expect.arrayContaining(flavours));
});

test("every alias finds its card", () => {
  for (const [alias, model] of Object.entries(cardAliases))
    expect(findCard(alias)?.model).toBe(model);
});

/** A name without family, spaces and punctuation. */
const shortName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/\b(geforce|tesla|quadro)\b/g, "")
    .replace(/[^a-z0-9]+/g, "");

/** Cards that the list of PCI IDs has under other names than drivers. */
const cardsWithOtherNames = ["A30", "A100 80GB PCIe", "H100 80GB HBM3", "H100 NVL", "H200"];

test("every card has its name from the list of PCI IDs, except five that drivers name differently", () => {
  const listedNames = new Set(listedChips.flatMap(([, names]) => names.map(shortName)));
  const unlistedModels = cards
    .map(({ model }) => model)
    .filter((model) => !listedNames.has(shortName(model)));
  expect(unlistedModels).toEqual(cardsWithOtherNames);
});

test("every card has the architecture and the compute capability of its chip, except five without a listed chip", () => {
  const factsByName = new Map<string, Set<string>>();
  for (const [chip, names] of listedChips) {
    const capability = Object.entries(chips.computeCapabilities).find(([chipPrefix]) =>
      chip.startsWith(chipPrefix),
    )?.[1];
    for (const name of names.map(shortName))
      factsByName.set(
        name,
        new Set(factsByName.get(name)).add(`${architectureOfChip(chip)} ${capability}`),
      );
  }
  const isListed = ({ model }: Card): boolean => factsByName.has(shortName(model));
  expect(cards.filter((row) => !isListed(row)).map(({ model }) => model)).toEqual(
    cardsWithOtherNames,
  );
  for (const { model, architecture, computeCapability } of cards.filter(isListed))
    expect([model, ...factsByName.get(shortName(model))!]).toEqual([
      model,
      `${architecture} ${computeCapability}`,
    ]);
});

test.each([
  ["GTX 1060", ["proprietary"]],
  ["RTX 3090", ["open", "proprietary"]],
  ["RTX 5090", ["open"]],
  ["GB10", ["proprietary", "open"]],
])("a card %s runs with the modules %j", (model, flavours) =>
  expect(flavoursOf(card(model))).toEqual(flavours),
);

test.each([
  ["535.247.01", "RTX 5090", false],
  ["570.172.08", "RTX 5090", true],
  ["595.91.07", "TITAN V", false],
  ["580.178.04", "TITAN V", true],
  ["570.211.01", "GB10", false],
  ["535.247.01", "H100 NVL", true],
])("driver %s supports the card %s: %j", (driver, model, expected) =>
  expect(supportsCard(driver, card(model))).toBe(expected),
);

test("the open modules of driver 535 support only data-center cards", () => {
  expect(openModulesRefuse(card("RTX 2070 SUPER"), "535.247.01")).toBe(true);
  expect(openModulesRefuse(card("H100 NVL"), "535.247.01")).toBe(false);
  expect(openModulesRefuse(card("RTX 2070 SUPER"), "550.90.07")).toBe(false);
});

test("the last CUDA release for a P100 is 12.9, and none is known for a T4", () => {
  expect(lastCudaOf(card("P100"))).toBe("12.9");
  expect(lastCudaOf(card("T4"))).toBeUndefined();
});

test.each([
  ["H200", { min: 200, max: 700, knownMin: true, knownMax: true }],
  ["H100 80GB HBM3", { min: 200, max: 700, knownMin: true, knownMax: true }],
  ["H100 NVL", { min: 100, max: 400, knownMin: false, knownMax: true }],
  ["RTX 3090", { min: 88, max: 525, knownMin: false, knownMax: false }],
])("each power limit of the card %s is known, or guessed if boards differ: %j", (model, range) =>
  expect(powerRangeOf(card(model))).toEqual(range),
);

test.each(["A10G", "GB10"])(
  "without power limits in the tables, the card %s has no range",
  (model) => expect(powerRangeOf(card(model))).toBeUndefined(),
);

test("the greatest power limit of an A16 is that of one of its four GPUs", () => {
  expect(powerRangeOf(card("A16"))).toMatchObject({ max: 62.5, knownMax: true });
});

test.each([
  ["GB10", true],
  ["GH200 480GB", true],
  ["GB300", true],
  ["H200", false],
  ["B200", false],
  ["GTX 1080", false],
])("%s comes with an arm64 processor: %j", (model, expected) =>
  expect(isOfArm64(card(model))).toBe(expected),
);

test("an H200 has the MIG profiles that nvidia-smi lists", () => {
  expect(migOf(card("H200"))?.profiles).toEqual({
    "1g.18gb": 7,
    "1g.35gb": 4,
    "2g.35gb": 3,
    "3g.71gb": 2,
    "4g.71gb": 1,
    "7g.141gb": 1,
  });
});

test("an RTX 4090 has no MIG profiles", () => {
  expect(migOf(card("RTX 4090"))).toBeUndefined();
});

test("the balanced profiles of every MIG geometry are among its profiles", () => {
  const geometriesWithBalanced = Object.values(migGeometries).filter(({ balanced }) => balanced);
  expect(geometriesWithBalanced).not.toEqual([]);
  for (const { balanced, profiles } of geometriesWithBalanced)
    expect(Object.keys(profiles)).toEqual(expect.arrayContaining(Object.keys(balanced!)));
});
