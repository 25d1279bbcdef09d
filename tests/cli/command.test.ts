import { helpOf, helpOfAll, parseOptions } from "../../cli/options";
import { paint } from "./paint";

describe("the options of a verb", () => {
  test("are parsed into values, switches and arguments", () => {
    const parsed = parseOptions(
      "paint",
      paint,
      ["a.png", "--brush", "x", "--brush=y", "--twice", "--json"],
      {},
    );
    expect(parsed).toEqual({
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
  ])("are refused if they are %j", (argv, expected) => {
    expect(() => parseOptions("paint", paint, argv, {})).toThrow(expected);
  });

  test.each<[string, string[], NodeJS.ProcessEnv, RegExp]>([
    [
      "npm passed its value on",
      ["a", "x"],
      { npm_config_brush: "true" },
      /^--brush: .*; write `npm run art -- --brush a x`$/,
    ],
    [
      "npm also took its value",
      ["a"],
      { npm_config_brush: "x" },
      /^--brush: .*; write `npm run art -- --brush x a`$/,
    ],
  ])(
    "are reported with the right command if npm took one of them: %s",
    (_, argv, npmVariables, expected) => {
      const environment = { npm_lifecycle_event: "art", ...npmVariables };
      expect(() => parseOptions("paint", paint, argv, environment)).toThrow(expected);
    },
  );

  test.each<[string, string[], NodeJS.ProcessEnv]>([
    [
      "npm's configuration has an option of npm with the same name",
      ["a"],
      { npm_config_json: "true" },
    ],
    ["npm passed them on", ["a", "--brush", "x"], {}],
  ])("are accepted if %s", (_, argv, npmVariables) => {
    const environment = { npm_lifecycle_event: "art", ...npmVariables };
    expect(() => parseOptions("paint", paint, argv, environment)).not.toThrow();
  });

  test("are all in the help, with the verb", () => {
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
