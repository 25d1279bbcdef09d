import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { renewCards } from "../../../generate/facts/renew-cards";
import { namesOfDevice } from "../../../components/recipe/facts/pci-cards";
import { pciCards } from "../../../generate/facts/pci-cards";
import committed from "../../../components/recipe/facts/data/pci-cards.json";

const list = `#\tVersion: 2026.10.24
10dd  Another Vendor
\t0001  GA102 [No card of NVIDIA's]
10de  NVIDIA Corporation
\t06dd  GF100GL [Quadro 4000]
\t1af1  GA100 [A100 NVSwitch]
\t1c06  GP106 [GeForce GTX 1060 6GB Rev. 2]
\t1e30  TU102GL [Quadro RTX 6000/8000]
\t\t10de 129e  Quadro RTX 8000
\t1e90  TU104M [GeForce RTX 2080 Mobile]
\t25b6  GA107GL [A2 / A16]
\t24dc  GA104M [GeForce RTX 3080 Mobile / Max-Q 8GB/16GB]
\t2342  GH100 [GH200 120GB / 480GB]
\t28b0  AD107GL [RTX 2000 / 2000E Ada Generation]
\t2bb4  GB202GL [RTX PRO 6000 Blackwell Max-Q Workstation Edition]
\t2b00  GB10B [Jetson AGX Thor]
10df  Emulex Corporation
`;

test("pciCards turns a list of PCI IDs into the card names that drivers print", () => {
  expect(pciCards(list)).toEqual({
    version: "2026.10.24",
    chips: {
      AD107: { "28b0": ["RTX 2000 Ada Generation", "RTX 2000E Ada Generation"] },
      GA104: { "24dc": ["GeForce RTX 3080 Laptop GPU"] },
      GA107: { "25b6": ["A2", "A16"] },
      GB202: { "2bb4": ["RTX PRO 6000 Blackwell Max-Q Workstation Edition"] },
      GF100: { "06dd": ["Quadro 4000"] },
      GH100: { "2342": ["GH200 120GB", "GH200 480GB"] },
      GP106: { "1c06": ["GeForce GTX 1060 6GB"] },
      TU102: { "1e30": ["Quadro RTX 6000", "Quadro RTX 8000"] },
      TU104: { "1e90": ["GeForce RTX 2080", "GeForce RTX 2080 with Max-Q Design"] },
    },
  });
});

test("a text that is not a list of PCI IDs is refused", () => {
  expect(() => pciCards("<html>503</html>")).toThrow("is not a list of PCI IDs");
});

test("the committed table has its source, its version and more than 30 chips", () => {
  expect(committed.source).toContain("pci.ids");
  expect(committed.version).toMatch(/^\d{4}\.\d\d\.\d\d$/);
  expect(Object.keys(committed.chips).length).toBeGreaterThan(30);
});

test("the generator writes the cards of a list, with one line for each device", async () => {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-cards-")), "cards.json");
  const listFile = `${file}.ids`;
  fs.writeFileSync(listFile, list);
  expect(await renewCards(listFile, file)).toBe(
    "cards.json: 9 devices, 14 names, 9 chips, list of 2026.10.24",
  );
  const text = fs.readFileSync(file, "utf8");
  expect(JSON.parse(text)).toMatchObject(pciCards(list));
  expect(text).toContain(
    '\n      "28b0": ["RTX 2000 Ada Generation", "RTX 2000E Ada Generation"]\n',
  );
  fs.rmSync(path.dirname(file), { recursive: true });
});

test.each([
  ["2c05", ["GeForce RTX 5070 Ti"]],
  ["1f07", ["GeForce RTX 2070"]],
  ["ffff", []],
])("the card names of the PCI device %s are %j", (id, names) => {
  expect(namesOfDevice(id)).toEqual(names);
});
