import { screen } from "../../lab/picture/recording";
import { pictureOf } from "../../lab/picture/svg";

const lines = [
  { at: 0, text: "· machines" },
  { at: 1, text: "    waits for the node" },
  { at: 2, text: "    is ready" },
  { at: 3, text: "✔ machines: gpu-1 [3 s]" },
  { at: 3, text: "· update" },
  { at: 9, text: "✔ update: succeeded [6 s]" },
];

test("what is done stays, what is under way passes, and the result comes last", () => {
  expect(screen(lines, "│ gpu-1 │\n", 10)).toEqual([
    { text: "  waits for the node", row: 1, from: 1, to: 2 },
    { text: "· machines", row: 0, from: 0, to: 3 },
    { text: "  is ready", row: 1, from: 2, to: 3 },
    { text: "✔ machines: gpu-1 [3 s]", row: 0, from: 3 },
    { text: "· update", row: 1, from: 3, to: 9 },
    { text: "✔ update: succeeded [6 s]", row: 1, from: 9 },
    { text: "│ gpu-1 │", row: 2, from: 10 },
  ]);
});

test("the picture needs nothing else, and where nothing moves it is the run's end", () => {
  const svg = pictureOf(screen(lines, "done <b>", 10), "npm run lab", 10, 2);
  expect(svg).not.toMatch(/<script|href=|url\(|@import/);
  const still = [...svg.matchAll(/<text [^>]*style="animation-name:k\d+"[^>]*>([^<]*)</g)].map(([, text]) => text);
  expect(still).toEqual(["✔ machines: gpu-1 [3 s]", "✔ update: succeeded [6 s]", "done &lt;b&gt;"]);
  expect(svg).toContain("prefers-reduced-motion");
});
