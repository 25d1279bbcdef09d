import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { provideLanguages } from "../../lab/tools";
import { compileFlags, languageTool } from "../../lab/tools/catalogue";
import { oldestGo } from "../../lab/tools/builders/go";
import { writeModule } from "../../lab/tools/builders/module";

// Pulumi's own generators make the SDKs from sdk/schema.json, as `pulumi package gen-sdk` does. Each language's
// compiler then checks them and their examples.

const root = path.resolve(__dirname, "../..");
const limit = 10 * 60_000;
const run = promisify(execFile);
const made = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-sdk-"));
afterAll(() => fs.rmSync(made, { recursive: true, force: true }));

let languages: string;
beforeAll(async () => {
  fs.symlinkSync(path.join(root, "node_modules"), path.join(made, "node_modules"));
  languages = await provideLanguages();
}, limit);

async function generated(language: "nodejs" | "python" | "go"): Promise<string> {
  const folder = path.join(made, language);
  await run(path.join(languages, "generate-sdk"), [
    language,
    path.join(root, "sdk/schema.json"),
    folder,
  ]);
  return folder;
}

/** The output of a program that fails; empty if it succeeds. */
async function complaints(
  program: string,
  args: string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<string> {
  try {
    await run(program, args, { ...options, maxBuffer: 2 ** 26 });
    return "";
  } catch (error) {
    const {
      stdout = "",
      stderr = "",
      message,
    } = error as { stdout?: string; stderr?: string; message: string };
    return `${stdout}${stderr}` || message;
  }
}

test.each(["typescript", "python", "go", "csharp"])(
  "the %s example uses this repository's package",
  (language) => {
    const file = path.join(root, "examples", language, "Pulumi.yaml");
    expect(parse(fs.readFileSync(file, "utf8"))).toMatchObject({
      packages: { "talos-gpu": "../../components" },
    });
  },
);

// With `nodenext`, the package.json next to a program decides the kind of its modules.
test.each(["commonjs", "module"])(
  "the TypeScript SDK and its example compile in a package of type %s",
  async (type) => {
    const sdk = await generated("nodejs");
    const folder = path.join(made, type);
    fs.mkdirSync(folder);
    fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ type }));
    fs.copyFileSync(path.join(root, "examples/typescript/index.ts"), path.join(folder, "index.ts"));
    const compilerOptions = {
      target: "ES2022",
      module: "nodenext",
      moduleResolution: "nodenext",
      types: ["node"],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      paths: { "@pulumi/talos-gpu": [`${sdk}/index.ts`] },
    };
    fs.writeFileSync(
      path.join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["index.ts"] }),
    );
    const tsc = path.join(root, "node_modules/typescript/bin/tsc");
    expect(await complaints(process.execPath, [tsc, "-p", folder], { cwd: folder })).toBe("");
  },
  limit,
);

test(
  "the Go SDK and its example compile",
  async () => {
    const sdk = await generated("go");
    // `pulumi package add` makes the folder above the package a Go module of its own.
    const { language } = JSON.parse(
      fs.readFileSync(path.join(root, "sdk/schema.json"), "utf8"),
    ) as { language: { go: { importBasePath: string } } };
    const module = path.posix.dirname(language.go.importBasePath);
    // The generators' modules are complete, so the example uses the same ones.
    const { require, ...modules } = languageTool.modules!;
    const folder = path.join(made, "go-example");
    fs.mkdirSync(folder);
    fs.copyFileSync(path.join(root, "examples/go/main.go"), path.join(folder, "main.go"));
    await writeModule(sdk, { ...modules, require }, { name: module, go: oldestGo });
    const replace = [...(modules.replace ?? []), `${module} => ${sdk}`];
    await writeModule(
      folder,
      { require: [...require, `${module} v0.1.0`], replace },
      { name: "gpu-go", go: oldestGo },
    );
    const env = { ...process.env, GOWORK: "off", GOFLAGS: "-mod=mod", CGO_ENABLED: "0" };
    const args = [
      "build",
      ...compileFlags,
      "-buildvcs=false",
      "-o",
      path.join(made, "example"),
      ".",
    ];
    expect(await complaints("go", args, { cwd: folder, env })).toBe("");
  },
  limit,
);

/**
 * A program that reads SDK and example, and prints arguments of the example that a constructor does not have, and
 * required ones that are missing.
 */
const judge = `
import ast, pathlib, sys
sdk, example = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
takes, needs = {}, {}
for file in sdk.rglob("*.py"):
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.ClassDef): continue
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__" and one.args.vararg is None:
                named = one.args.kwonlyargs + one.args.args
                takes.setdefault(node.name, set()).update(each.arg for each in named)
                needs[node.name] = {each.arg for each, default in zip(one.args.kwonlyargs, one.args.kw_defaults) if default is None}
for node in ast.walk(ast.parse(example.read_text())):
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "gpu"): continue
    name, given = node.func.attr, {each.arg for each in node.keywords}
    if name not in takes: print(f"no {name}")
    else:
        for wrong in sorted(given - takes[name]): print(f"{name} takes no {wrong}")
        for lacking in sorted(needs.get(name, set()) - given): print(f"{name} needs {lacking}")
`;

test(
  "the Python SDK compiles, and its constructors accept the example's arguments",
  async () => {
    const sdk = await generated("python");
    const example = path.join(root, "examples/python/__main__.py");
    const cache = { ...process.env, PYTHONPYCACHEPREFIX: path.join(made, "pycache") };
    expect(
      await complaints("python3", ["-m", "compileall", "-q", sdk, example], {
        cwd: made,
        env: cache,
      }),
    ).toBe("");
    const { stdout } = await run("python3", ["-c", judge, sdk, example]);
    expect(stdout).toBe("");
  },
  limit,
);
