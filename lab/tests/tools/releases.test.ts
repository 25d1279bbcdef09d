import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as path from "node:path";
import { isAlive } from "../../../components/clients/is-alive";
import { catalogue } from "../../tools/catalogue";
import { publishedOf, sumOf } from "../../tools/builders/release";
import { untilSeen } from "../../until";
import { Sandbox } from "./fixture";
import { sha256 } from "./release-page";

const github = "https://github.com";
const kubernetes = "https://dl.k8s.io/release/v1.36.3/bin/linux/arm64";
const kubernetesFiles = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubeadm",
].map((name) => [`${kubernetes}/${name}`, `${kubernetes}/${name}.sha256`]);

test.each([
  [
    "controlplane",
    "linux",
    [
      ...kubernetesFiles,
      [
        `${github}/etcd-io/etcd/releases/download/v3.6.8/etcd-v3.6.8-linux-arm64.tar.gz`,
        `${github}/etcd-io/etcd/releases/download/v3.6.8/SHA256SUMS`,
      ],
    ],
  ],
  [
    "pulumi",
    "linux",
    [
      [
        `${github}/pulumi/pulumi/releases/download/v3.259.0/pulumi-v3.259.0-linux-arm64.tar.gz`,
        `${github}/pulumi/pulumi/releases/download/v3.259.0/pulumi-3.259.0-checksums.txt`,
      ],
    ],
  ],
  [
    "talosctl",
    "darwin",
    [
      [
        `${github}/siderolabs/talos/releases/download/v1.13.0/talosctl-darwin-arm64`,
        `${github}/siderolabs/talos/releases/download/v1.13.0/sha256sum.txt`,
      ],
    ],
  ],
  [
    "pulumi-resource-kubernetes",
    "linux",
    [
      [
        `${github}/pulumi/pulumi-kubernetes/releases/download/v4.34.2/pulumi-resource-kubernetes-v4.34.2-linux-arm64.tar.gz`,
        `${github}/pulumi/pulumi-kubernetes/releases/download/v4.34.2/pulumi-kubernetes_4.34.2_checksums.txt`,
      ],
    ],
  ],
  [
    "helm",
    "linux",
    [
      [
        "https://get.helm.sh/helm-v3.22.0-linux-arm64.tar.gz",
        "https://get.helm.sh/helm-v3.22.0-linux-arm64.tar.gz.sha256",
      ],
    ],
  ],
])(
  "the download of %s for %s has the versions from which the tool is built",
  async (name, os, expected) => {
    const tool = catalogue.find((definition) => definition.name === name)!;
    const published = await publishedOf(tool, { version: "go1.26.8", os, arch: "arm64" });
    expect(published?.files.map(({ address, sums }) => [address, sums])).toEqual(expected);
  },
);

test.each([
  ["controlplane", "darwin"], // Kubernetes publishes no API server for macOS
  // There it must read TALOS_GPU_CHARTS (lab/charts/repository.ts), which only the lab's own build does.
  ["pulumi-resource-kubernetes", "darwin"],
  // The lab's own program, and one whose project publishes only images.
  ["machines", "linux"],
  ["lws", "linux"],
])("nothing is downloaded for %s on %s", async (name, os) => {
  const tool = catalogue.find((definition) => definition.name === name)!;
  expect(await publishedOf(tool, { version: "go1.26.8", os, arch: "arm64" })).toBeUndefined();
});

test("the published Kubernetes provider has the version of the SDK", async () => {
  const provider = catalogue.find(({ name }) => name === "pulumi-resource-kubernetes")!;
  const sdk = fs.readFileSync(require.resolve("@pulumi/kubernetes/package.json"), "utf8");
  const { version } = JSON.parse(sdk) as { version: string };
  expect(provider.release!.files.map((file) => file.version)).toEqual([`v${version}`]);
  expect(provider.stamps[0]).toMatch(new RegExp(`=${version}$`));
});

test("Pulumi's file names have x64 for amd64", async () => {
  const pulumi = catalogue.find(({ name }) => name === "pulumi")!;
  const published = await publishedOf(pulumi, { version: "go1.26.8", os: "linux", arch: "amd64" });
  expect(published?.files.map(({ address }) => path.basename(address))).toEqual([
    "pulumi-v3.259.0-linux-x64.tar.gz",
  ]);
});

const sum = sha256("");
test.each([
  [sum, sum],
  [`${sum}\n`, sum],
  [`${sum.toUpperCase()}  helm\n`, sum],
  [`${sum} *helm\n`, sum],
  [`${sha256("other")}  helm.asc\n${sum}  _out/helm\r\n`, sum],
])("in the list of sums %j, the sum of helm is %j", (text, expected) => {
  expect(sumOf(text, "helm")).toBe(expected);
});

test.each([`${sum}  helm.tar.gz\n`, "<html>no such page</html>", ""])(
  "the list of sums %j has no sum of helm",
  (text) => expect(sumOf(text, "helm")).toBeUndefined(),
);

describe("the launcher of a published control plane", () => {
  const sandbox = new Sandbox();
  const launcher = path.join(sandbox.folder, "controlplane");
  beforeAll(() => {
    fs.copyFileSync(
      catalogue.find(({ name }) => name === "controlplane")!.release!.launcher!,
      launcher,
    );
    fs.chmodSync(launcher, 0o755);
    sandbox.writeScript("kubeadm", 'printf "%s," "$@"\nexit 3');
    sandbox.writeScript("etcd", `printf "%s," $$ "$@" >${sandbox.folder}/started\nexec sleep 600`);
  });
  afterAll(() => sandbox.remove());

  const startLauncher = (...args: string[]): ReturnType<typeof spawn> =>
    spawn(launcher, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });

  test("calls a component with its arguments, and exits with its status", async () => {
    const child = startLauncher("kubeadm", "init", "--name", "a b");
    let output = "";
    child.stdout!.on("data", (data: Buffer) => (output += data.toString()));
    const [code] = (await once(child, "close")) as [number];
    expect(code).toBe(3);
    expect(output).toBe("init,--name,a b,");
  });

  test.each([
    ["killed", (child: ReturnType<typeof spawn>) => void child.kill("SIGKILL")],
    ["abandoned by its parent", (child: ReturnType<typeof spawn>) => void child.stdin!.destroy()],
  ])("ends together with its component if it is %s", async (_, endChild) => {
    const file = path.join(sandbox.folder, "started");
    fs.rmSync(file, { force: true });
    const child = startLauncher("child", "etcd", "--name", "lab");
    const closed = once(child, "close");
    const started = await untilSeen(
      "etcd has written its arguments",
      { seconds: 60, every: 20 },
      () => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : ""),
      (text) => text.endsWith("lab,"),
    );
    expect(started).toBe(`${child.pid},--name,lab,`);
    endChild(child);
    await closed;
    await untilSeen(
      "no process of the group is alive",
      { seconds: 60, every: 20 },
      () => isAlive(-child.pid!),
      (alive) => !alive,
    );
  });
});
