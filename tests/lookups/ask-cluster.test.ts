import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { askCluster } from "../../components/lookups/ask-cluster";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-ask-cluster-"));
const SHELLS = "current-context: the-shells\n";
const shells = { KUBECONFIG: path.join(folder, "config") };
beforeAll(() => fs.writeFileSync(shells.KUBECONFIG, SHELLS));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** Which kubeconfigs are opened for a kubeconfig in the arguments. */
async function opened(kubeconfig: unknown): Promise<string[]> {
  const texts: string[] = [];
  const open = (text: string) => {
    texts.push(text);
    return { read: () => Promise.resolve(undefined) };
  };
  const key = { apiVersion: "v1", kind: "Node", name: "gpu-1" };
  await askCluster(kubeconfig, (objects) => objects.read(key), open, shells, 500);
  return texts;
}

test.each<[string, () => unknown, string[]]>([
  ["a text", () => "the stack's", ["the stack's"]],
  [
    "a secret, as config.requireSecret gives it",
    () => pulumi.secret("the stack's"),
    ["the stack's"],
  ],
  ["a promise", () => Promise.resolve("the stack's"), ["the stack's"]],
  [
    "an Output that is not known yet",
    () => pulumi.output(new Promise<string>(() => undefined)),
    [],
  ],
  ["an empty Output", () => pulumi.output(""), []],
  ["something that is no text", () => 7, []],
  ["nothing", () => undefined, [SHELLS]],
  ["null, as other languages say nothing", () => null, [SHELLS]],
])("%s in the arguments is not replaced by another cluster", async (_, kubeconfig, texts) => {
  expect(await opened(kubeconfig())).toEqual(texts);
});
