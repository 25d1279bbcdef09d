import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { buildSync } from "esbuild";
import type { usualKubeconfig as Read } from "../../../cli/reach/usual-kubeconfig";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-kubeconfig-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** Bundled in the same way as the command, since Jest cannot load the Kubernetes client, an ES module. */
const outfile = path.join(folder, "kubeconfig.js");
const entry = path.resolve(__dirname, "../../../cli/reach/usual-kubeconfig.ts");
buildSync({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "cjs" });
// eslint-disable-next-line @typescript-eslint/no-require-imports -- made a moment ago
const { usualKubeconfig: readKubeconfig } = require(outfile) as { usualKubeconfig: typeof Read };

/** A kubeconfig with one context. Other files may have the same names of cluster and user. */
const config = (
  context: string,
  server: string,
  user: Record<string, unknown> = {},
  more: object[] = [],
) => ({
  "current-context": context,
  contexts: [{ name: context, context: { cluster: "home", user: "me" } }, ...more],
  clusters: [{ name: "home", cluster: { server } }],
  users: [{ name: "me", user }],
});

function written(name: string, content: unknown): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const first = written("first", config("a", "https://first", { token: "one" }));
const second = written("second", config("b", "https://second", { token: "two" }));
const blank = written("blank", "\n");
const read = (...files: string[]) =>
  readKubeconfig(undefined, { KUBECONFIG: files.join(path.delimiter) });

// The rules are those of client-go, tools/clientcmd/loader.go, Load.
test.each([
  [
    "the first context and the first entry of each name count",
    [first, second],
    "a",
    "https://first",
    "one",
  ],
  ["the order of the files decides", [second, first], "b", "https://second", "two"],
  ["a missing or empty file is skipped", ["/nowhere", blank, second], "b", "https://second", "two"],
])("of several kubeconfigs, %s", (_, files, context, server, token) => {
  const found = read(...files);
  expect([
    found.getCurrentContext(),
    found.getCurrentCluster()?.server,
    found.getCurrentUser()?.token,
  ]).toEqual([context, server, token]);
  const contexts = found.getContexts().map(({ name }) => name);
  expect(contexts.toSorted()).toEqual(files.includes(first) ? ["a", "b"] : ["b"]);
});

test("an incomplete entry does not affect the others", () => {
  const file = written(
    "half",
    config("a", "https://first", {}, [{ name: "b", context: { user: "me" } }]),
  );
  expect(readKubeconfig(file, {}).getCurrentCluster()?.server).toBe("https://first");
});

test.each([
  ["that is missing", "/nowhere", /--kubeconfig: cannot be read \(ENOENT/],
  ["that is empty", blank, /--kubeconfig: cannot be read \(it contains no cluster/],
])("a single kubeconfig %s is reported", (_, file, message) => {
  expect(() => read(file)).toThrow(message);
});

describe("tokenFile", () => {
  written("token", "t0ken\n");
  const tokenOf = (user: object): unknown =>
    readKubeconfig(written("user", config("a", "https://first", { ...user })), {}).getCurrentUser()
      ?.token;

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
    const other = { name: "other", user: { tokenFile: "gone" } };
    const { users, ...rest } = config("a", "https://first");
    expect(
      readKubeconfig(written("others", { ...rest, users: [...users, other] }), {}).getUsers(),
    ).toHaveLength(2);
  });
});
