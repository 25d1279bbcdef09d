import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import { waitUntilEnded } from "../../support/processes";
import {
  startApiServer,
  setupCli,
  writeHangingProgram,
  startServer,
  clusterWithGpu,
  runCommand,
} from "../support";

const { folder, cli, kubeconfigOptions } = setupCli();

test("discover writes the stack's file, and overwrites an existing one only with --force", async () => {
  const args = [
    "discover",
    ...(await kubeconfigOptions(startApiServer(clusterWithGpu))),
    "--name",
    "home",
  ];
  const file = path.join(folder, "Pulumi.home.yaml");
  const first = await runCommand(cli, args);
  expect(first.status).toBe(2);
  expect(first.stdout).toContain(
    "Wrote Pulumi.home.yaml. Next, see its effect: npx talos-gpu plan --stack home",
  );
  expect(first.stderr).toContain(
    "could not read: without a talosconfig, the machines' cards, images",
  );
  expect(fs.readFileSync(file, "utf8")).toContain("    gpu-1:\n      address: 127.0.0.1\n");
  fs.writeFileSync(file, "mine\n");
  const second = await runCommand(cli, args);
  expect(second.status).toBe(2);
  expect(second.stderr).toContain("Pulumi.home.yaml already exists and was not overwritten");
  expect(fs.readFileSync(file, "utf8")).toBe("mine\n");
  expect((await runCommand(cli, [...args, "--force", "--json"])).stdout).toContain(
    '"file":"Pulumi.home.yaml"',
  );
  expect(fs.readFileSync(file, "utf8")).toContain("talos-gpu:machines");
});

/** A node as Talos labels it: with its release, and the extensions of its image. */
const nodesWithTalosLabels = {
  "/api/v1/nodes": clusterWithGpu["/api/v1/nodes"].map((node) => ({
    ...node,
    metadata: {
      name: "gpu-1",
      labels: {
        "extensions.talos.dev/iscsi-tools": "v0.2.0",
        "extensions.talos.dev/modules.dep": "6.18.0-talos",
        "extensions.talos.dev/nvidia-open-gpu-kernel-modules-production": "595.71.05-v1.13.0",
        "extensions.talos.dev/nvidia-container-toolkit-production": "595.71.05-v1.18.2",
      },
    },
    status: { ...node.status, nodeInfo: { osImage: "Talos (v1.13.0)" } },
  })),
};

test("without a talosconfig, release, driver and extensions come from the nodes", async () => {
  const args = [
    "discover",
    ...(await kubeconfigOptions(startApiServer(nodesWithTalosLabels))),
    "--out",
    "-",
  ];
  const { stdout } = await runCommand(cli, args);
  const { config } = parse(stdout) as { config: Record<string, any> };
  expect(config["talos-gpu:talosVersion"]).toBe("v1.13.0");
  expect(config["talos-gpu:driver"]).toEqual({ branch: "production", flavour: "open" });
  expect(config["talos-gpu:machines"]["gpu-1"].extensions).toEqual(["siderolabs/iscsi-tools"]);
  expect(stdout).not.toContain("release of the machines could not be read");
  expect(stdout).toMatch(
    /image could not be read, apart from the extensions in its node's labels; before the drain, an update stops if the next image lacks an extension/,
  );
});

test.each([
  [404, false, "Kubernetes has no ResourceSlices"],
  [403, true, "the user may not list them"],
  [503, true, "the API server failed"],
])(
  "the answer %i for ResourceSlices counts as unread: %s, because %s",
  async (status, isUnseen) => {
    const server = startServer((request, response) => {
      const { pathname } = new URL(request.url!, "http://x");
      response.statusCode = pathname.endsWith("/resourceslices") ? status : 200;
      response.setHeader("content-type", "application/json");
      const items = (nodesWithTalosLabels as Record<string, unknown[]>)[pathname] ?? null;
      response.end(
        JSON.stringify(response.statusCode === 200 ? { kind: "List", items } : { message: "no" }),
      );
    });
    const { stderr } = await runCommand(cli, [
      "discover",
      ...(await kubeconfigOptions(server)),
      "--out",
      "-",
    ]);
    const line = "could not read: the DRA driver's list of cards could not be read";
    expect(stderr.includes(line)).toBe(isUnseen);
  },
);

test("discover refuses a machine that the cluster lacks, and an invalid stack name", async () => {
  const args = [
    "discover",
    ...(await kubeconfigOptions(startApiServer(clusterWithGpu))),
    "--out",
    "-",
  ];
  expect((await runCommand(cli, [...args, "--machine", "gpu-9"])).stderr).toContain(
    "has no machine gpu-9; name one of gpu-1",
  );
  expect((await runCommand(cli, [...args, "--name", "a b"])).stderr).toContain(
    "is not a stack name",
  );
});

test.each([
  ["a server that never answers", () => startServer(() => {}), "does not answer within 0.6 s"],
  ["a cluster without Talos", () => startApiServer({}), "has no node that runs Talos"],
])("%s makes discover exit with status 2", async (_, server, message) => {
  const { status, stderr } = await runCommand(cli, [
    "discover",
    ...(await kubeconfigOptions(server())),
    "--within",
    "3",
  ]);
  expect(status).toBe(2);
  expect(stderr).toContain(message);
});

test("discover kills a hanging talosctl and its child processes, and writes the stack without the machines' facts", async () => {
  const { program, pids } = writeHangingProgram(folder, "talosctl-hangs");
  const talosconfig = path.join(folder, "talosconfig");
  fs.writeFileSync(talosconfig, "context: a\ncontexts: {a: {endpoints: [127.0.0.1]}}\n");
  const args = [
    "discover",
    ...(await kubeconfigOptions(startApiServer(clusterWithGpu))),
    "--talosconfig",
    talosconfig,
    "--within",
    "3",
    "--out",
    "-",
  ];
  const { status, stdout, stderr } = await runCommand(cli, args, { TALOS_GPU_TALOSCTL: program });
  expect(status).toBe(2);
  expect(stdout).toContain("gpu-1:");
  expect(stderr).toContain("the machines could not be read: talosctl version did not end within");
  await waitUntilEnded(pids());
});
