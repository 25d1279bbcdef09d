import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { buildSync } from "esbuild";
import { parse } from "yaml";
import type {
  KubeconfigCluster,
  KubeconfigUser,
  readKubeconfig as Read,
} from "../../../components/clients/kubernetes/kubeconfig";
import {
  kubeconfigOfFiles,
  kubeconfigOfVariable,
} from "../../../components/clients/kubernetes/kubeconfig-files";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-kubeconfig-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** Bundled in the same way as the programs, since Jest cannot load the Kubernetes client, an ES module. */
const outfile = path.join(folder, "kubeconfig.js");
const entry = path.resolve(__dirname, "../../../components/clients/kubernetes/kubeconfig.ts");
buildSync({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "cjs" });
// eslint-disable-next-line @typescript-eslint/no-require-imports -- made a moment ago
const { readKubeconfig } = require(outfile) as { readKubeconfig: typeof Read };

/** A kubeconfig with one context. */
const config = (user: object, cluster: object = {}): object => ({
  "current-context": "home",
  contexts: [{ name: "home", context: { cluster: "home", user: "me" } }],
  clusters: [{ name: "home", cluster: { server: "https://home", ...cluster } }],
  users: [{ name: "me", user }],
});

function writeFile(relativePath: string, content: object | string): string {
  const file = path.join(folder, relativePath);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const userWithRelativePaths = {
  "client-certificate": "me.crt",
  "client-key": "keys/me.key",
  tokenFile: "token",
  exec: { command: "./plugin", args: ["./left-alone"] },
};

test("relative paths are resolved from the folder of the kubeconfig that contains them", () => {
  const nearFile = writeFile(
    "near/config",
    config(userWithRelativePaths, { "certificate-authority": "ca.crt" }),
  );
  const farFile = writeFile("far/config", {
    users: [{ name: "you", user: { tokenFile: "token", exec: { command: "aws" } } }],
  });
  for (const files of [[nearFile], [nearFile, farFile], [farFile, nearFile]]) {
    const { clusters, users } = parse(kubeconfigOfFiles(files)) as Record<
      string,
      { name: string; user: object; cluster: object }[]
    >;
    expect(clusters![0]!.cluster).toMatchObject({
      "certificate-authority": path.join(folder, "near/ca.crt"),
    });
    expect(users!.find(({ name }) => name === "me")!.user).toEqual({
      "client-certificate": path.join(folder, "near/me.crt"),
      "client-key": path.join(folder, "near/keys/me.key"),
      tokenFile: path.join(folder, "near/token"),
      exec: { command: path.join(folder, "near/plugin"), args: ["./left-alone"] },
    });
    if (files.length === 1) continue;
    const expectedUser = { tokenFile: path.join(folder, "far/token"), exec: { command: "aws" } };
    expect(users!.find(({ name }) => name === "you")!.user).toEqual(expectedUser);
  }
});

test("a single kubeconfig without relative paths stays unchanged, comments included", () => {
  const text = `# mine\n${JSON.stringify(config({ token: "t" }))}\n`;
  expect(kubeconfigOfFiles([writeFile("plain", text)])).toBe(text);
  expect(
    kubeconfigOfVariable(`/nowhere${path.delimiter}${writeFile("plain", text)}${path.delimiter}`),
  ).toBe(text);
});

test.each<[string, string[], RegExp]>([
  ["a missing file", ["/nowhere"], /^ENOENT: there is no file \/nowhere$/],
  [
    "a list of missing files",
    ["/a-nowhere", "/b-nowhere"],
    /^ENOENT: none of these files exists: \/a-nowhere, \/b-nowhere$/,
  ],
  ["a folder", [folder], /is a folder$/],
  ["a file that is not YAML", [writeFile("secret", "a: [hunter2")], /secret is not YAML$/],
  [
    "a list",
    [writeFile("list", "[hunter2]")],
    /list contains no cluster, so it is not a kubeconfig$/,
  ],
])("%s is reported without a quote of its content", (_, files, message) => {
  expect(() => kubeconfigOfFiles(files)).toThrow(message);
});

describe("a kubeconfig as text", () => {
  const readUser = (user: object, cluster?: object) =>
    readKubeconfig(JSON.stringify(config(user, cluster)));

  test("has the token from its token file", () => {
    const tokenFile = writeFile("token", "t0ken\n");
    const user: KubeconfigUser | null = readUser({ tokenFile, token: "old" }).getCurrentUser();
    expect(user).toMatchObject({ tokenFile, token: "t0ken" });
  });

  test("is refused if its token file cannot be read and it has no token", () => {
    expect(() => readUser({ tokenFile: "/nowhere/token" })).toThrow(
      /^the token of user me: ENOENT.*\/nowhere\/token/,
    );
    expect(readUser({ tokenFile: "/nowhere/token", token: "old" }).getCurrentUser()?.token).toBe(
      "old",
    );
  });

  test("keeps a cluster's settings for its credential plugin", () => {
    const extensions = [
      { name: "client.authentication.k8s.io/exec", extension: { audience: "home" } },
    ];
    const cluster: KubeconfigCluster | null = readUser({}, { extensions }).getCurrentCluster();
    expect(cluster?.execConfig).toEqual({ audience: "home" });
  });

  test.each(["", "null", "[]", "<html>", "a: [hunter2", "context: home\ncontexts: {}\n"])(
    "is refused if it is %j",
    (text) => {
      expect(() => readKubeconfig(text)).toThrow(
        /^it (contains no cluster, so it is not a kubeconfig|is not YAML)$/,
      );
    },
  );
});
