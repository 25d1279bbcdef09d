import { assetTag } from "../cluster/lab-gpu";

test("a virtual machine's board names its cards: entries of one model are counted together", () => {
  expect(assetTag([])).toBe("");
  expect(assetTag([{ model: "RTX 5090" }, { model: "RTX 5090", count: 2 }])).toBe(
    "3|NVIDIA GeForce RTX 5090|32607|12.0",
  );
});

test("a virtual machine with cards of two models is refused", () => {
  expect(() => assetTag([{ model: "RTX 5090" }, { model: "RTX 3090" }])).toThrow(
    /2 kinds of cards; .* list one kind/,
  );
});
