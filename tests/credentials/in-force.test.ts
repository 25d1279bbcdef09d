import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { stringify } from "yaml";
import { unlessExpired } from "../../components/credentials/access";
import { credentialFindings } from "../../components/credentials/credentials";
import { expiredCertificate } from "../cli/expired-certificate";
import { stackOfOneMachine } from "../recipe/stacks";
import { clusterArgs, tryToRegisterCluster } from "../support/gpu-cluster";
import { kubeconfig, talosconfig } from "../support/talos";

const encodedCertificate = Buffer.from(expiredCertificate).toString("base64");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-in-force-"));
const file = (name: string, text: string): string => {
  fs.writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
};
afterAll(() => fs.rmSync(folder, { recursive: true }));

const kubeconfigOf = (user: object): string =>
  stringify({
    "current-context": "admin@home",
    clusters: [{ name: "home", cluster: { server: "https://192.0.2.1:6443" } }],
    contexts: [{ name: "admin@home", context: { cluster: "home", user: "me" } }],
    users: [{ name: "me", user }],
  });
const expiredCredentials = {
  talosconfig: stringify({ context: "home", contexts: { home: { crt: encodedCertificate } } }),
  kubeconfig: kubeconfigOf({ "client-certificate-data": encodedCertificate }),
};
const VALID_FILES = {
  TALOSCONFIG: file("talosconfig", talosconfig),
  KUBECONFIG: file("kubeconfig", kubeconfig),
};

/** Fields and problems of the preview's findings about credentials. */
const problemsOf = (
  args: Record<string, unknown>,
  environment: NodeJS.ProcessEnv,
  spec = stackOfOneMachine("v1.12.6", {}),
) =>
  credentialFindings(args, spec, environment).map(({ field, problem }) => `${field}: ${problem}`);

const TALOSCONFIG_PROBLEM =
  "talosconfig: the client certificate of context home expired on 2021-01-01";
const KUBECONFIG_PROBLEM =
  "kubeconfig: the client certificate of user me (context admin@home) expired on 2021-01-01";

test.each<[string, Record<string, unknown>, NodeJS.ProcessEnv, string[]]>([
  ["in the arguments", expiredCredentials, {}, [TALOSCONFIG_PROBLEM, KUBECONFIG_PROBLEM]],
  [
    "in files that environment variables name",
    {},
    {
      TALOSCONFIG: file("late-talosconfig", expiredCredentials.talosconfig),
      KUBECONFIG: file("late-kubeconfig", expiredCredentials.kubeconfig),
    },
    [TALOSCONFIG_PROBLEM, KUBECONFIG_PROBLEM],
  ],
  [
    "in a separate file that the kubeconfig names",
    {
      talosconfig,
      kubeconfig: kubeconfigOf({ "client-certificate": file("client.crt", expiredCertificate) }),
    },
    {},
    [KUBECONFIG_PROBLEM],
  ],
])("a preview refuses expired client certificates %s", (_, args, environment, problems) => {
  expect(problemsOf(args, environment)).toEqual(problems);
});

test("a preview does not read KUBECONFIG if the arguments have a kubeconfig", () => {
  expect(problemsOf({ talosconfig, kubeconfig }, { KUBECONFIG: "/nowhere" })).toEqual([]);
});

test.each<[string, NodeJS.ProcessEnv]>([
  ["existing files", VALID_FILES],
  ["an existing and a missing kubeconfig", { KUBECONFIG: `${VALID_FILES.KUBECONFIG}:/nowhere/b` }],
])("a preview accepts %s in environment variables", (_, environment) => {
  expect(problemsOf({}, { ...VALID_FILES, ...environment })).toEqual([]);
});

test.each<[string, NodeJS.ProcessEnv, RegExp]>([
  [
    "two missing kubeconfigs",
    { KUBECONFIG: "/nowhere/a:/nowhere/b" },
    /a file in KUBECONFIG cannot be read \(ENOENT/,
  ],
  [
    "a folder as kubeconfig",
    { KUBECONFIG: folder },
    /a file in KUBECONFIG cannot be read \(.* is a folder/,
  ],
  [
    "a talosconfig as kubeconfig",
    { KUBECONFIG: VALID_FILES.TALOSCONFIG },
    /missing or of the wrong type: clusters/,
  ],
  [
    "a missing talosconfig",
    { TALOSCONFIG: "/nowhere" },
    /a file in TALOSCONFIG cannot be read \(ENOENT/,
  ],
])("a preview refuses %s in environment variables", (_, environment, problem) => {
  expect(problemsOf({}, { ...VALID_FILES, ...environment })).toEqual([
    expect.stringMatching(problem),
  ]);
});

test("a stack that bootstraps its cluster ignores KUBECONFIG and TALOSCONFIG", () => {
  const spec = { ...stackOfOneMachine("v1.12.6", { configuration: "owned" }), bootstrap: true };
  expect(problemsOf({}, { KUBECONFIG: "/nowhere", TALOSCONFIG: "/nowhere" }, spec)).toEqual([]);
});

test.each(["talosconfig", "kubeconfig"] as const)(
  "an expired %s that is an Output is refused once it is known",
  (name) => {
    expect(() => unlessExpired(name, expiredCredentials[name])).toThrow(
      /^\w+: the client certificate of .* expired on 2021-01-01; .*; /,
    );
    expect(unlessExpired(name, { talosconfig, kubeconfig }[name])).toBe(
      { talosconfig, kubeconfig }[name],
    );
  },
);

test("a cluster whose kubeconfig has expired is refused before it is registered", async () => {
  const { error, resources } = await tryToRegisterCluster(
    clusterArgs("rtx5070ti", { kubeconfig: expiredCredentials.kubeconfig }),
    {
      preview: true,
    },
  );
  expect(error?.message).toContain(KUBECONFIG_PROBLEM);
  expect(resources.map(({ type }) => type)).not.toContain("talos-gpu:index:GpuCluster");
});
