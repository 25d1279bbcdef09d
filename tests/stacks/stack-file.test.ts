import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import {
  configurationOf,
  readStackFile,
  stackNameOf,
  stackNames,
  textOf,
} from "../../stacks/stack-file";

test.each([
  ["home", "home"],
  ["./mine/Pulumi.home.yaml", "home"],
  ["/etc/Pulumi.home.lab.yml", "home.lab"],
  ["home.yaml", "home"],
])("a stack that is given as %s has the name %s", (stackArgument, name) => {
  expect(stackNameOf(stackArgument)).toBe(name);
});

test("a stack file in any folder is read without credentials and without keys of other projects", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "stack-file-"));
  const file = path.join(folder, "Pulumi.home.yaml");
  fs.writeFileSync(
    file,
    `encryptionsalt: v1:abc
config:
  talos-gpu:talosVersion: v1.12.6
  bootstrap: true
  kubernetes:namespace: other
  talos-gpu:kubeconfig: { secure: v1:abc }
  talos-gpu:omniServiceAccountKey: { secure: v1:abc }
`,
  );
  expect(readStackFile(file)).toEqual({ talosVersion: "v1.12.6", bootstrap: true });
  fs.rmSync(folder, { recursive: true });
});

test("YAML merge keys are applied, as in Pulumi", () => {
  const text =
    "config:\n  machines:\n    a: &a { role: worker, address: 10.0.0.1 }\n    b: { <<: *a, address: 10.0.0.2 }\n";
  expect(configurationOf(text, "f")).toEqual({
    machines: {
      a: { role: "worker", address: "10.0.0.1" },
      b: { role: "worker", address: "10.0.0.2" },
    },
  });
});

test("an unknown stack is refused with a list of the existing ones", () => {
  expect(() => readStackFile("nowhere")).toThrow(
    `name the path of a stack file, or ${stackNames().join(", or ")}`,
  );
  expect(() => readStackFile("./Pulumi.nowhere.yaml")).toThrow(
    "there is no file ./Pulumi.nowhere.yaml",
  );
});

test("a folder in place of a stack file is refused, in the lab and by plan", () => {
  const folder = path.join(__dirname, "..");
  expect(() => readStackFile(folder)).toThrow(
    /^--stack: .* cannot be read \(it is no plain file\), so .*; name a stack file$/,
  );
  expect(() => textOf(folder)).toThrow("it is no plain file");
});

test.each([
  ["a binary program", "\x7fELF\x02\x01", ""],
  ["a list", "- a\n- b\n", ""],
  ["a sentence in place of the configuration", "config: none\n", "config: "],
])("%s is refused as a stack file", (_, text, place) => {
  expect(() => configurationOf(text, "f")).toThrow(
    `f: ${place}is not a mapping, so the stack is unknown; name a stack file, Pulumi.<stack>.yaml`,
  );
});

test("an empty stack file is valid", () => {
  expect(configurationOf("", "f")).toEqual({});
  expect(configurationOf("config:\n", "f")).toEqual({});
});
