import { pciCards } from "../../../cli/facts/pci-cards";
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

test("a list of PCI IDs becomes the names that drivers print, by chip", () => {
  expect(pciCards(list)).toEqual({
    version: "2026.10.24",
    chips: {
      AD107: ["RTX 2000 Ada Generation", "RTX 2000E Ada Generation"],
      GA104: ["GeForce RTX 3080 Laptop GPU"],
      GA107: ["A16", "A2"],
      GB202: ["RTX PRO 6000 Blackwell Max-Q Workstation Edition"],
      GH100: ["GH200 120GB", "GH200 480GB"],
      GP106: ["GeForce GTX 1060 6GB"],
      TU102: ["Quadro RTX 6000", "Quadro RTX 8000"],
      TU104: ["GeForce RTX 2080", "GeForce RTX 2080 with Max-Q Design"],
    },
  });
});

test("what is no such list is refused", () => {
  expect(() => pciCards("<html>503</html>")).toThrow("is no list of PCI IDs");
});

test("the committed table says where it is from", () => {
  expect(committed.source).toContain("pci.ids");
  expect(committed.version).toMatch(/^\d{4}\.\d\d\.\d\d$/);
  expect(Object.keys(committed.chips).length).toBeGreaterThan(30);
});
