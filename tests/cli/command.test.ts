import { helpOf, helpOfAll, parseOptions } from "../../cli/options";
import { paint } from "./paint";

describe("options, from one table", () => {
  test("values, switches and the argument", () => {
    const given = parseOptions(
      "paint",
      paint,
      ["a.png", "--brush", "x", "--brush=y", "--twice", "--json"],
      {},
    );
    expect(given).toEqual({
      values: { brush: ["x", "y"] },
      switches: new Set(["twice", "json"]),
      positionals: ["a.png"],
      environment: {},
    });
  });

  test.each([
    [["a", "--brsh", "x"], /Unknown option '--brsh'.*see `npx talos-gpu paint --help`/s],
    [["a", "--brush"], /argument missing/],
    [["a", "--onto", ""], /--onto: is empty/],
    [[], /needs one FILE, but 0 are given/],
    [["a", "b"], /needs one FILE, but 2 are given/],
  ])("%j is refused", (argv, expected) => {
    expect(() => parseOptions("paint", paint, argv, {})).toThrow(expected);
  });

  test.each<[string, string[], NodeJS.ProcessEnv, RegExp | undefined]>([
    [
      "its value stays",
      ["a", "x"],
      { npm_config_brush: "true" },
      /^--brush: .*; write `npm run art -- --brush a x`$/,
    ],
    [
      "its value goes, too",
      ["a"],
      { npm_config_brush: "x" },
      /^--brush: .*; write `npm run art -- --brush x a`$/,
    ],
    ["npm's own option stands in its configuration", ["a"], { npm_config_json: "true" }, undefined],
    ["it came here", ["a", "--brush", "x"], {}, undefined],
  ])("an option before npm's two dashes: %s", (_, argv, taken, expected) => {
    const parse = () =>
      parseOptions("paint", paint, argv, { npm_lifecycle_event: "art", ...taken });
    if (expected === undefined) expect(parse).not.toThrow();
    else expect(parse).toThrow(expected);
  });

  test("help names every verb and every option", () => {
    expect(helpOfAll({ paint })).toContain("paint  paints it's picture");
    for (const part of [
      "talos-gpu paint FILE [options]",
      "--brush KIND",
      "--onto FILE",
      "--twice",
      "--json",
      "--no-color",
    ])
      expect(helpOf("paint", paint)).toContain(part);
  });
});
