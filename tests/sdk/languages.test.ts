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
import { publishedSchema, writeSdk } from "../support/packages/generated-sdk";

// Pulumi's own generators make the SDKs from sdk/schema.json, as `pulumi package gen-sdk` does. Each language's
// compiler then checks them and their examples.

const root = path.resolve(__dirname, "../..");
const runFile = promisify(execFile);
const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-sdk-"));
afterAll(() => fs.rmSync(temp, { recursive: true, force: true }));

let languages: string;
beforeAll(async () => {
  fs.symlinkSync(path.join(root, "node_modules"), path.join(temp, "node_modules"));
  languages = await provideLanguages();
});

/** Generates the SDK of a language; returns its folder. */
async function generateSdk(language: "nodejs" | "python" | "go"): Promise<string> {
  const folder = path.join(temp, language);
  await writeSdk(folder, { schema: publishedSchema, language, languages });
  return folder;
}

/** The output of a program that fails; empty if it succeeds. */
async function errorsOf(
  program: string,
  args: string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<string> {
  try {
    await runFile(program, args, { ...options, maxBuffer: 2 ** 26 });
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
test.each([
  { type: "commonjs", module: "nodenext", moduleResolution: "nodenext" },
  { type: "module", module: "nodenext", moduleResolution: "nodenext" },
  { type: "module", module: "esnext", moduleResolution: "bundler" },
])(
  "the TypeScript SDK and its example compile in a package of type $type with $moduleResolution",
  async ({ type, module, moduleResolution }) => {
    const sdk = await generateSdk("nodejs");
    const folder = path.join(temp, `${type}-${moduleResolution}`);
    fs.mkdirSync(folder);
    fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ type }));
    fs.copyFileSync(path.join(root, "examples/typescript/index.ts"), path.join(folder, "index.ts"));
    const compilerOptions = {
      target: "ES2022",
      module,
      moduleResolution,
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
    expect(await errorsOf(process.execPath, [tsc, "-p", folder], { cwd: folder })).toBe("");
  },
);

test("the Go SDK and its example compile", async () => {
  const sdk = await generateSdk("go");
  // `pulumi package add` makes the folder above the package a Go module of its own.
  const { language } = JSON.parse(fs.readFileSync(path.join(root, "sdk/schema.json"), "utf8")) as {
    language: { go: { importBasePath: string } };
  };
  const module = path.posix.dirname(language.go.importBasePath);
  // The generators' modules are complete, so the example uses the same ones.
  const { require, ...modules } = languageTool.modules!;
  const folder = path.join(temp, "go-example");
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
  const args = ["build", ...compileFlags, "-buildvcs=false", "-o", path.join(temp, "example"), "."];
  expect(await errorsOf("go", args, { cwd: folder, env })).toBe("");
});

/**
 * A program that reads SDK and example, and prints arguments of the example that a constructor does not have, and
 * required ones that are missing.
 */
const compareArguments = `
import ast, pathlib, sys
sdk, example = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
accepted, required = {}, {}
for file in sdk.rglob("*.py"):
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.ClassDef): continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__" and method.args.vararg is None:
                parameters = method.args.kwonlyargs + method.args.args
                accepted.setdefault(node.name, set()).update(parameter.arg for parameter in parameters)
                required[node.name] = {parameter.arg for parameter, default in zip(method.args.kwonlyargs, method.args.kw_defaults) if default is None}
for node in ast.walk(ast.parse(example.read_text())):
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "gpu"): continue
    name, arguments = node.func.attr, {keyword.arg for keyword in node.keywords}
    if name not in accepted: print(f"no {name}")
    else:
        for argument in sorted(arguments - accepted[name]): print(f"{name} takes no {argument}")
        for argument in sorted(required.get(name, set()) - arguments): print(f"{name} needs {argument}")
`;

test("the Python SDK compiles, and its constructors accept the example's arguments", async () => {
  const sdk = await generateSdk("python");
  const example = path.join(root, "examples/python/__main__.py");
  const cache = { ...process.env, PYTHONPYCACHEPREFIX: path.join(temp, "pycache") };
  expect(
    await errorsOf("python3", ["-m", "compileall", "-q", sdk, example], {
      cwd: temp,
      env: cache,
    }),
  ).toBe("");
  const { stdout } = await runFile("python3", ["-c", compareArguments, sdk, example]);
  expect(stdout).toBe("");
});
