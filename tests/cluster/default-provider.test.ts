import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { GpuCluster } from "talos-gpu";
import { stringify } from "yaml";
import { type ProviderSettings, providerWarning } from "../../components/cluster/providers";
import { clusterArgs } from "../support/gpu-cluster";
import { record } from "../support/recorder";
import { providerAnswers } from "../support/talos";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-providers-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const authority = (name: string): string =>
  Buffer.from(`the authority of ${name}`).toString("base64");
const cluster = (server: string, ca: string) => ({
  server,
  "certificate-authority-data": authority(ca),
});
const kubeconfig = (clusters: Record<string, object>, current = Object.keys(clusters)[0]): string =>
  stringify({
    "current-context": current,
    clusters: Object.entries(clusters).map(([name, cluster]) => ({ name, cluster })),
    contexts: Object.keys(clusters).map((name) => ({
      name,
      context: { cluster: name, user: "me" },
    })),
  });
const HOME = cluster("https://192.0.2.1:6443", "home");
const VIP = cluster("https://home.example:6443", "home");
const WORK = cluster("https://198.51.100.1:6443", "work");
const stackKubeconfig = kubeconfig({ home: HOME });

const file = (name: string, text: string): string => {
  fs.writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
};
const settingsWith = (
  KUBECONFIG?: string,
  config: Partial<Record<string, string>> = {},
): ProviderSettings => ({
  config: (key) => config[key],
  environment: KUBECONFIG === undefined ? {} : { KUBECONFIG },
  home: folder,
});

test.each<[string, ProviderSettings]>([
  ["the shell's kubeconfig of the same cluster", settingsWith(file("home", stackKubeconfig))],
  ["another URL of the same cluster", settingsWith(file("vip", kubeconfig({ vip: VIP })))],
  [
    "the path of a kubeconfig of the same cluster in its configuration",
    settingsWith(undefined, { kubeconfig: file("home", stackKubeconfig) }),
  ],
])("a default Kubernetes provider with %s gets no warning", (_, providerSettings) =>
  expect(providerWarning(stackKubeconfig, providerSettings)).toBeUndefined(),
);

test.each<[string, ProviderSettings, RegExp]>([
  ["no kubeconfig", settingsWith(), /uses no cluster that this program can find/],
  [
    "the shell's kubeconfig of another cluster",
    settingsWith(file("work", kubeconfig({ work: WORK }))),
    /uses https:\/\/198\.51\.100\.1:6443; .* in https:\/\/192/,
  ],
  [
    "another cluster in its configuration, despite the shell's kubeconfig",
    settingsWith(file("home", stackKubeconfig), { kubeconfig: kubeconfig({ work: WORK }) }),
    /198/,
  ],
  [
    "another context in its configuration",
    settingsWith(file("both", kubeconfig({ home: HOME, work: WORK })), { context: "work" }),
    /198/,
  ],
  [
    "a file that is no kubeconfig",
    settingsWith(file("none", "a: [")),
    /no cluster that this program can find/,
  ],
])("a default Kubernetes provider with %s gets a warning", (_, providerSettings, warning) =>
  expect(providerWarning(stackKubeconfig, providerSettings)).toMatch(warning),
);

test("a default Kubernetes provider gets a warning if the program itself creates the cluster", () => {
  expect(providerWarning(undefined, settingsWith(file("home", stackKubeconfig)))).toMatch(
    /^providers: .*; .*; pass a provider/,
  );
});

test.each([
  ["no Kubernetes provider", true, false],
  ["a Kubernetes provider", false, true],
])("a GpuCluster with %s in its options prints a warning: %s", async (_, isWarned, hasProvider) => {
  const lines: string[] = [];
  const warn = jest
    .spyOn(pulumi.log, "warn")
    .mockImplementation((line) => Promise.resolve(void lines.push(line)));
  const info = jest
    .spyOn(pulumi.log, "info")
    .mockImplementation((line) => Promise.resolve(void lines.push(line)));
  const { error } = await record(
    () =>
      new GpuCluster(
        "lab",
        clusterArgs("rtx5070ti", { kubeconfig: stackKubeconfig }),
        hasProvider
          ? {
              providers: {
                kubernetes: new k8s.Provider("kubernetes", { kubeconfig: stackKubeconfig }),
              },
            }
          : {},
      ),
    { ...providerAnswers, preview: true },
  );
  for (const spy of [warn, info]) spy.mockRestore();
  expect(error).toBeUndefined();
  expect(lines.some((line) => line.startsWith("providers: "))).toBe(isWarned);
  expect(lines).toContain("Talos provider: 0.8.1, of @pulumiverse/talos");
});
