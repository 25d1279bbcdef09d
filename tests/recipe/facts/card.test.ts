import {
  architectureOf,
  drives,
  findCard,
  flavoursOf,
  knownModels,
  lastCudaOf,
  migOf,
  openModulesRefuse,
  powerRangeOf,
} from "../../../components/recipe/facts/card";
import { cardAliases, cards, type Card } from "../../../components/recipe/facts/data/cards";
import { migGeometries } from "../../../components/recipe/facts/data/mig";

const card = (model: string): Card => {
  const found = findCard(model);
  if (!found) throw new Error(model);
  return found;
};

test.each([
  ["GTX 1080 Ti", "Pascal", "6.1", "0300_10de"],
  ["TITAN V", "Volta", "7.0", "0300_10de"],
  ["Tesla V100-SXM2-32GB", "Volta", "7.0", "0302_10de"],
  ["T4", "Turing", "7.5", "0302_10de"],
  ["RTX 2070 SUPER", "Turing", "7.5", "0300_10de"],
  ["A100", "Ampere", "8.0", "0302_10de"],
  ["RTX 3090", "Ampere", "8.6", "0300_10de"],
  ["L40S", "Ada", "8.9", "0302_10de"],
  ["NVIDIA GeForce RTX 4090", "Ada", "8.9", "0300_10de"],
  ["H100 NVL", "Hopper", "9.0", "0302_10de"],
  ["NVIDIA H200", "Hopper", "9.0", "0302_10de"],
  ["B200", "Blackwell", "10.0", "0302_10de"],
  ["rtx 5070 ti", "Blackwell", "12.0", "0300_10de"],
  ["RTX PRO 6000", "Blackwell", "12.0", "0300_10de"],
  ["GB10", "Blackwell", "12.1", "0300_10de"],
])("%s is %s, %s, %s", (model, architecture, computeCapability, pciDevice) => {
  expect(card(model)).toMatchObject({ architecture, computeCapability, pciDevice });
});

test("close names are different cards", () => {
  expect(card("RTX 4070").model).toBe("RTX 4070");
  expect(card("RTX 4070 Ti SUPER").model).toBe("RTX 4070 Ti SUPER");
  expect(card("RTX 4000").architecture).toBe("Turing");
  expect(card("RTX 4000 Ada").architecture).toBe("Ada");
  expect(findCard("RTX 9090")).toBeUndefined();
});

test("the table is whole", () => {
  expect(new Set(knownModels()).size).toBe(cards.length);
  for (const row of cards) {
    expect(architectureOf(row).name).toBe(row.architecture);
    expect(row.memoryMiB).toBeGreaterThan(1024);
    expect(findCard(row.model)).toBe(row);
  }
  for (const [alias, model] of Object.entries(cardAliases)) expect(findCard(alias)?.model).toBe(model);
});

test.each([
  ["GTX 1060", ["proprietary"]],
  ["RTX 3090", ["open", "proprietary"]],
  ["RTX 5090", ["open"]],
  ["GB10", ["proprietary"]],
])("%s runs with %j", (model, flavours) => expect(flavoursOf(card(model))).toEqual(flavours));

test.each([
  ["535.247.01", "RTX 5090", false],
  ["570.172.08", "RTX 5090", true],
  ["595.91.07", "TITAN V", false],
  ["580.178.04", "TITAN V", true],
  ["570.211.01", "GB10", false],
  ["535.247.01", "H100 NVL", true],
])("driver %s drives %s: %j", (driver, model, is) => expect(drives(driver, card(model))).toBe(is));

test("open modules of old drivers know data-center cards only", () => {
  expect(openModulesRefuse(card("RTX 2070 SUPER"), "535.247.01")).toBe(true);
  expect(openModulesRefuse(card("H100 NVL"), "535.247.01")).toBe(false);
  expect(openModulesRefuse(card("RTX 2070 SUPER"), "550.90.07")).toBe(false);
});

test("CUDA 13 dropped what came before Turing", () => {
  expect(lastCudaOf(card("P100"))).toBe("12.9");
  expect(lastCudaOf(card("T4"))).toBeUndefined();
});

test("power limits: exact where they were seen, wide where boards differ", () => {
  expect(powerRangeOf(card("H200"))).toEqual({ min: 200, max: 700, exact: true });
  expect(powerRangeOf(card("H100 NVL"))).toEqual({ min: 100, max: 400, exact: false });
  expect(powerRangeOf(card("RTX 3090"))).toEqual({ min: 88, max: 525, exact: false });
  expect(powerRangeOf(card("GB10"))).toBeUndefined();
});

test("MIG: what nvidia-smi of an H200 lists", () => {
  expect(migOf(card("H200"))?.profiles).toEqual({
    "1g.18gb": 7,
    "1g.35gb": 4,
    "2g.35gb": 3,
    "3g.71gb": 2,
    "4g.71gb": 1,
    "7g.141gb": 1,
  });
  expect(migOf(card("RTX 4090"))).toBeUndefined();
  for (const geometry of Object.values(migGeometries)) {
    for (const profile of Object.keys(geometry.balanced)) expect(geometry.profiles).toHaveProperty([profile]);
  }
});
