import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { isStale } from "../../generate/package/build-if-stale";
import { repository } from "../../stacks/stack-file";

const { scripts } = JSON.parse(fs.readFileSync(path.join(repository, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

const sources = [
  "components/index.ts",
  "components/facts/cards.json",
  "cli/main.ts",
  "generate/package/bundles.js",
  "generate/schema/main.ts",
  "sdk/talos/index.ts",
];

/** A repository whose programs print the result of its build, and whose build writes "built". */
class Checkout {
  readonly root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-stale-")));

  constructor() {
    for (const file of [
      "generate/package/build-if-stale.js",
      "generate/package/kubernetes-client.js",
      "lab/bundle/bundle.js",
      "lab/bundle/lazy-parts.js",
      "lab/bundle/run.js",
    ]) {
      fs.mkdirSync(path.dirname(path.join(this.root, file)), { recursive: true });
      fs.copyFileSync(path.join(repository, file), path.join(this.root, file));
    }
    this.write("node_modules/.package-lock.json", "{}");
    fs.symlinkSync(
      path.join(repository, "node_modules/esbuild"),
      path.join(this.root, "node_modules/esbuild"),
    );
    const printResult = `import { readFileSync } from "node:fs";\nconsole.log(readFileSync("components/bin/program.js", "utf8"));\n`;
    for (const folder of ["lab", "bench"]) this.write(`${folder}/main.ts`, printResult);
    for (const source of sources) this.write(source, "{}");
    const build = `echo noise && printf built > components/bin/program.js && touch sdk/schema.json`;
    this.write("package.json", JSON.stringify({ scripts: { ...scripts, build } }));
    this.write("sdk/schema.json", "{}");
    this.write("components/bin/program.js", "stale");
    this.setAge("sdk/schema.json", 1);
    this.setAge("components/bin/program.js", 1);
    for (const file of ["build-if-stale.js", "kubernetes-client.js"])
      this.setAge(`generate/package/${file}`, 2);
    for (const source of sources) this.setAge(source, 2);
  }

  write(file: string, content: string): void {
    fs.mkdirSync(path.dirname(path.join(this.root, file)), { recursive: true });
    fs.writeFileSync(path.join(this.root, file), content);
  }

  setAge(file: string, minutes: number): void {
    const time = new Date(Date.now() - minutes * 60_000);
    fs.utimesSync(path.join(this.root, file), time, time);
  }
}

describe("the build of the package", () => {
  let checkout: Checkout;
  beforeEach(() => {
    checkout = new Checkout();
  });
  afterEach(() => fs.rmSync(checkout.root, { recursive: true, force: true }));

  test.each([
    ...sources.map((file) => [file, true] as const),
    ["components/bin/index.ts", false] as const,
    ["components/node_modules/other/index.ts", false] as const,
    ["components/README.md", false] as const,
  ])("is stale after a change of %s: %s", (file, stale) => {
    expect(isStale(checkout.root)).toBe(false);
    checkout.write(file, "{}");
    expect(isStale(checkout.root)).toBe(stale);
  });

  test.each(["sdk/schema.json", "components/bin/program.js"])("is stale without %s", (file) => {
    fs.rmSync(path.join(checkout.root, file));
    expect(isStale(checkout.root)).toBe(true);
  });

  test.each(["lab", "bench"])(
    "is renewed by npm run %s if it is stale, without a word on standard output",
    async (script) => {
      const run = promisify(execFile);
      const options = {
        cwd: checkout.root,
        env: { ...process.env, npm_config_update_notifier: "false" },
      };
      expect((await run("npm", ["run", "--silent", script], options)).stdout).toBe("stale\n");
      checkout.write("components/index.ts", "export {};");
      const { stdout, stderr } = await run("npm", ["run", "--silent", script], options);
      expect(stdout).toBe("built\n");
      expect(stderr).toContain(
        "components/bin is older than its sources, so `npm run build` runs first",
      );
    },
  );
});
