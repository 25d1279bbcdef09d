import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { completion } from "../../cli/completion";
import { helpOf, helpOfAll, parseOptions } from "../../cli/options";
import type { Verb } from "../../cli/verb";
import { scratch } from "./stand";

const folder = scratch();
afterAll(() => fs.rmSync(folder, { recursive: true }));

const paint: Verb = {
  summary: "paints it's picture",
  argument: { name: "FILE", completes: "file", required: true },
  options: {
    brush: { value: { name: "KIND", completes: "nothing" }, multiple: true, help: "a brush [of: any kind]" },
    onto: { value: { name: "FILE", completes: "file" }, help: "where to" },
    twice: { help: "once more" },
  },
  run: async () => 0,
};

describe("options, from one table", () => {
  test("values, switches and the argument", () => {
    const given = parseOptions("paint", paint, ["a.png", "--brush", "x", "--brush=y", "--twice", "--json"], {});
    expect(given).toEqual({
      values: { brush: ["x", "y"] },
      switches: new Set(["twice", "json"]),
      positionals: ["a.png"],
      environment: {},
    });
  });

  test.each([
    [["a", "--brsh", "x"], /Unknown option '--brsh'.*see `talos-gpu paint --help`/s],
    [["a", "--brush"], /argument missing/],
    [["a", "--onto", ""], /--onto: is empty/],
    [[], /one FILE is needed, 0 are there/],
    [["a", "b"], /one FILE is needed, 2 are there/],
  ])("%j is refused", (argv, expected) => {
    expect(() => parseOptions("paint", paint, argv, {})).toThrow(expected);
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

describe("completion, from the same table", () => {
  const shells = (): Promise<string[]> =>
    Promise.all(
      ["bash", "zsh", "fish"].map(async (shell) => {
        let text = "";
        const output = { result: (more: string) => void (text += more), remark: () => {}, colour: false };
        const given = { values: {}, switches: new Set<string>(), positionals: [shell], environment: {} };
        await completion(() => ({ paint })).run(given, output);
        return text;
      }),
    );

  test("every shell gets every verb and option", async () => {
    for (const text of await shells())
      for (const word of ["paint", "brush", "twice", "json"]) expect(text).toContain(word);
  });

  test("bash completes by it", async () => {
    const [bash] = await shells();
    const complete = (...words: string[]): string[] => {
      const script = `${bash}COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _talos_gpu; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync("bash", ["-c", script], { cwd: folder, encoding: "utf8" }).trim().split("\n");
    };
    fs.writeFileSync(path.join(folder, "picture.png"), "");
    expect(complete("talos-gpu", "p")).toEqual(["paint"]);
    expect(complete("talos-gpu", "paint", "--b")).toEqual(["--brush"]);
    expect(complete("talos-gpu", "paint", "--onto", "pic")).toEqual(["picture.png"]);
    expect(complete("talos-gpu", "paint", "--brush", "pic")).toEqual([""]);
  });
});
