import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { buildSync } from "esbuild";
import type { usualKubeconfig as UsualKubeconfig } from "../../../cli/reach/usual-kubeconfig";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-kubeconfig-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** Bundled in the same way as the command, since Jest cannot load the Kubernetes client, an ES module. */
const outfile = path.join(folder, "kubeconfig.js");
const entry = path.resolve(__dirname, "../../../cli/reach/usual-kubeconfig.ts");
buildSync({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "cjs" });
// eslint-disable-next-line @typescript-eslint/no-require-imports -- made a moment ago
const { usualKubeconfig: readKubeconfig } = require(outfile) as {
  usualKubeconfig: typeof UsualKubeconfig;
};

/** A kubeconfig with one context. Other files may have the same names of cluster and user. */
const kubeconfigOf = (
  context: string,
  server: string,
  user: Record<string, unknown> = {},
  otherContexts: object[] = [],
) => ({
  "current-context": context,
  contexts: [{ name: context, context: { cluster: "home", user: "me" } }, ...otherContexts],
  clusters: [{ name: "home", cluster: { server } }],
  users: [{ name: "me", user }],
});

function writeFile(name: string, content: unknown): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const first = writeFile("first", kubeconfigOf("a", "https://first", { token: "one" }));
const second = writeFile("second", kubeconfigOf("b", "https://second", { token: "two" }));
const blank = writeFile("blank", "\n");
const readFiles = (...files: string[]) =>
  readKubeconfig(undefined, { KUBECONFIG: files.join(path.delimiter) });

// The rules are those of client-go, tools/clientcmd/loader.go, Load.
test.each([
  {
    name: "of several kubeconfigs, the first context and the first entry of each name count",
    files: [first, second],
    expected: { context: "a", server: "https://first", token: "one" },
  },
  {
    name: "of several kubeconfigs, the order of the files decides",
    files: [second, first],
    expected: { context: "b", server: "https://second", token: "two" },
  },
  {
    name: "a missing or empty kubeconfig is skipped",
    files: ["/nowhere", blank, second],
    expected: { context: "b", server: "https://second", token: "two" },
  },
])("$name", ({ files, expected }) => {
  const kubeconfig = readFiles(...files);
  expect({
    context: kubeconfig.getCurrentContext(),
    server: kubeconfig.getCurrentCluster()?.server,
    token: kubeconfig.getCurrentUser()?.token,
  }).toEqual(expected);
  const contexts = kubeconfig.getContexts().map(({ name }) => name);
  expect(contexts.toSorted()).toEqual(files.includes(first) ? ["a", "b"] : ["b"]);
});

test("a context without a cluster does not affect the current context", () => {
  const file = writeFile(
    "half",
    kubeconfigOf("a", "https://first", {}, [{ name: "b", context: { user: "me" } }]),
  );
  expect(readKubeconfig(file, {}).getCurrentCluster()?.server).toBe("https://first");
});

test.each([
  ["that is missing", "/nowhere", /--kubeconfig: cannot be read \(ENOENT/],
  ["that is empty", blank, /--kubeconfig: cannot be read \(it contains no cluster/],
])("a single kubeconfig %s is reported", (_, file, message) => {
  expect(() => readFiles(file)).toThrow(message);
});

describe("tokenFile", () => {
  writeFile("token", "t0ken\n");
  const tokenOf = (user: object): unknown =>
    readKubeconfig(
      writeFile("user", kubeconfigOf("a", "https://first", { ...user })),
      {},
    ).getCurrentUser()?.token;

  test.each([
    ["is read next to the kubeconfig", { tokenFile: "token" }, "t0ken"],
    ["is read by its absolute path", { tokenFile: path.join(folder, "token") }, "t0ken"],
    ["takes precedence over a token", { tokenFile: "token", token: "old" }, "t0ken"],
    ["that cannot be read is replaced by the token", { tokenFile: "gone", token: "old" }, "old"],
  ])("%s", (_, user, token) => expect(tokenOf(user)).toBe(token));

  test("that cannot be read is reported if no token exists", () => {
    expect(() => tokenOf({ tokenFile: "gone" })).toThrow(/the token of user me: ENOENT.*gone/);
  });

  test("of another user may be missing", () => {
    const otherUser = { name: "other", user: { tokenFile: "gone" } };
    const { users, ...rest } = kubeconfigOf("a", "https://first");
    expect(
      readKubeconfig(writeFile("others", { ...rest, users: [...users, otherUser] }), {}).getUsers(),
    ).toHaveLength(2);
  });
});
