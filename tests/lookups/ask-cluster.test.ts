import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { askCluster } from "../../components/lookups/ask-cluster";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-ask-cluster-"));
/** The kubeconfig that the shell's environment names. */
const shellKubeconfig = "current-context: the-shells\n";
const shellEnvironment = { KUBECONFIG: path.join(folder, "config") };
beforeAll(() => fs.writeFileSync(shellEnvironment.KUBECONFIG, shellKubeconfig));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** The kubeconfigs that are opened for a kubeconfig in the arguments. */
async function openedKubeconfigs(kubeconfig: unknown): Promise<string[]> {
  const kubeconfigs: string[] = [];
  const open = (text: string) => {
    kubeconfigs.push(text);
    return { read: () => Promise.resolve(undefined) };
  };
  const key = { apiVersion: "v1", kind: "Node", name: "gpu-1" };
  await askCluster(kubeconfig, (objects) => objects.read(key), open, shellEnvironment, 500);
  return kubeconfigs;
}

test.each<[argument: string, expected: string[], kubeconfig: () => unknown]>([
  ["a text", ["the stack's"], () => "the stack's"],
  [
    "a secret, as config.requireSecret returns it",
    ["the stack's"],
    () => pulumi.secret("the stack's"),
  ],
  ["a promise", ["the stack's"], () => Promise.resolve("the stack's")],
  [
    "an Output that is not known yet",
    [],
    () => pulumi.output(new Promise<string>(() => undefined)),
  ],
  ["an empty Output", [], () => pulumi.output("")],
  ["a number", [], () => 7],
  ["no value", [shellKubeconfig], () => undefined],
  ["null, which other languages pass for no value", [shellKubeconfig], () => null],
])(
  "with %s as the argument kubeconfig, the kubeconfigs that are opened are %j",
  async (_, expected, kubeconfig) => {
    expect(await openedKubeconfigs(kubeconfig())).toEqual(expected);
  },
);
