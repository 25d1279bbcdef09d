import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { serveCharts } from "../charts/repository";
import { provideTools } from "../tools";
import { untilSeen } from "../until";
import { installPlugins, pluginProcesses, runningPlugins } from "../../tests/support/plugins";
import { assertOk, runLab } from "../../tests/e2e/support/labs";

// `--pulumi installed` with the real Kubernetes plugin, and stand-ins for the other two on PATH. The plugins must
// find the stack's Image Factory, the charts, the machines at their own addresses, and the folder of commands.

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-plugins-"));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

// The test gives the machines' addresses to this computer, which needs root on Linux.
const canAddAddresses = process.platform === "linux" && process.getuid?.() === 0;

(canAddAddresses ? test : test.skip)(
  "with provider plugins on PATH, a stack that bootstraps its cluster comes up, is unchanged by an update, and is destroyed",
  async () => {
    const {
      talosctl,
      controlplane,
      "pulumi-resource-kubernetes": plugin,
    } = await provideTools({
      only: ["talosctl", "controlplane", "pulumi-resource-kubernetes"],
    });
    const charts = await serveCharts({
      dir: path.join(folder, "charts"),
      controlPlane: controlplane,
    });
    const pluginEnvironment = installPlugins(folder, ["command", "talos"]);
    const environment = {
      ...pluginEnvironment,
      PATH: [path.dirname(await charts.redirect(plugin)), pluginEnvironment["PATH"]].join(
        path.delimiter,
      ),
      PLUGIN_TALOSCTL: talosctl,
      TALOS_GPU_CHARTS: charts.addressOf(""),
      HELM_CACHE_HOME: path.join(folder, "helm"),
    };
    const stack = path.join(__dirname, "Pulumi.installed-plugins.yaml");
    const run = await runLab(
      ["--stack", stack, "--updates", "2", "--pulumi", "installed"],
      environment,
    );
    await charts.close();
    assertOk(run);
    expect(run.report.updates[1]!.changes).toMatchObject({
      create: 0,
      update: 0,
      replace: 0,
      delete: 0,
    });
    expect(run.report.machines["gpu"]).toMatchObject({
      reboots: 1,
      allocatable: { "nvidia.com/gpu": "1" },
    });
    expect(run.report.left).toEqual([]);
    const processes = pluginProcesses(folder);
    expect(new Set(processes.map(({ name }) => name))).toEqual(new Set(["command", "talos"]));
    // Commands run in the folder of the program's main file, where they find talos-gpu/bin/program.js.
    expect(new Set(processes.map(({ folder }) => path.basename(folder)))).toEqual(
      new Set(["stacks"]),
    );

    await untilSeen(
      "the plugins have ended",
      { seconds: 300, every: 50 },
      () => runningPlugins(folder),
      (alive) => alive.length === 0,
    );
  },
);
