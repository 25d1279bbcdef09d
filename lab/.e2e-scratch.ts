import * as fs from "node:fs"; import * as path from "node:path"; import { spawn } from "node:child_process";
import { startControlPlane } from "/work/main/lab/controlplane"; import { startFactory } from "/work/main/lab/factory";
import { makeExistingCluster } from "/work/main/lab/existing-cluster"; import { startMachines } from "/work/main/lab/machines";
import { planCluster, findCard } from "/work/main/components/recipe"; import { KubernetesView } from "/work/main/lab/kubernetes-view";
const cache = process.env.HOME + "/.cache/talos-gpu/tools"; const tool = (n: string) => { const c = fs.readdirSync(cache).filter(d => d.startsWith(n + "-") && fs.existsSync(path.join(cache, d, n))).map(d => path.join(cache, d, n)).sort((a, b) => fs.statSync(b).mtimeMs - fs.statSync(a).mtimeMs); return c[0]!; };
const dir = fs.mkdtempSync("/tmp/machine-eng/run-"); const version = process.argv[2] ?? "v1.12.6"; const role: any = process.argv[3] ?? "worker"; const abort = new AbortController();
async function main() {
  const spec: any = { talosVersion: version, kubernetesVersion: "v1.34.0", clusterName: "lab", clusterEndpoint: "https://10.1.1.10:6443", machines: { "gpu-1": { address: "10.1.1.1", role, configuration: "adopted", gpus: [{ model: "RTX 5070 Ti" }] } }, gpuOperator: { version: "v25.10.1" } };
  const cp = await startControlPlane({ dir: dir + "/cp", binary: tool("controlplane"), signal: abort.signal }); const factory = await startFactory();
  const existing = await makeExistingCluster(dir + "/talos", tool("talosctl"), spec); const card: any = findCard("RTX 5070 Ti");
  const machines = await startMachines(tool("machines"), { dir: dir + "/m", timeScale: 60, factory: factory.url, kubernetes: { server: cp.server, adminKubeconfig: cp.adminKubeconfig, caCert: cp.caCert, caKey: cp.caKey }, talos: { caCert: existing.caCert, caKey: existing.caKey }, clusterName: "lab",
    machines: [{ name: "gpu-1", address: "10.1.1.1", role, talosVersion: version, schematicId: "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba", platform: "metal", config: existing.configurations["gpu-1"]!, gpus: [{ model: card.model, architecture: card.architecture, pciDevice: card.pciDevice, count: 1, memoryMiB: card.memoryMiB, computeCapability: card.computeCapability, minPowerW: 1, maxPowerW: 300, defaultPowerW: 300 }] }] } as any, { signal: abort.signal, onLog: (l: string) => fs.appendFileSync("/tmp/machine-eng/machines.log", l + "\n") });
  await new Promise(r => setTimeout(r, 3000));
  const talosconfig = existing.talosconfig(machines.api); fs.writeFileSync(dir + "/talosconfig", talosconfig);
  const recipe = planCluster(spec).machines[0]!;
  await fetch(factory.url + "/schematics", { method: "POST", body: recipe.schematic });
  const run = (verb: string, task: any, env: any = {}) => new Promise<any>((res) => { const t = Date.now(); const c = spawn("node", ["/tmp/machine-eng/program.js", verb], { env: { ...process.env, TALOS_GPU_TALOSCONFIG: talosconfig, TALOS_GPU_KUBECONFIG: fs.readFileSync(cp.adminKubeconfig, "utf8"), TALOS_GPU_TALOSCTL: tool("talosctl"), ...env }, stdio: ["pipe", "pipe", "inherit"] }); let out = ""; c.stdout.on("data", d => out += d); c.on("close", code => { console.log(verb, "exit", code, ((Date.now() - t) / 1000).toFixed(1) + "s", out.trim()); res(out.trim()); }); c.stdin.end(JSON.stringify(task)); });
  const state = async () => { const r: any = await (await fetch(machines.control + "/state")).json(); const m = r.machines["gpu-1"]; console.log({ ...m, events: m.events.slice(-12).map((e: any) => e.at + " " + e.what) }); };
  const adoptTask = { machine: "gpu-1", address: "10.1.1.1", patches: recipe.patches };
  const upTask = { machine: "gpu-1", address: "10.1.1.1", role, talosVersion: recipe.talosVersion, schematicId: recipe.schematicId, installerImage: recipe.installerImage, configurationHash: "1", modules: recipe.kernelModules.map(m => m.name), driverVersion: recipe.driverVersion, extensionServices: recipe.extensionServices, drain: true, otherControlPlanes: [], timeouts: { pull: "1m", drain: "10s", reboot: "1m", verify: "20s" }, pollSeconds: 0.2 };
  (globalThis as any).ctx = { cp, factory, existing, machines, run, state, adoptTask, upTask, dir, talosconfig, tool };
  if (process.argv[4]) { await (await import(process.argv[4])).default((globalThis as any).ctx); } else {
    const a1 = await run("adopt", adoptTask); await run("adopt", adoptTask, { PULUMI_COMMAND_STDOUT: a1 }); await run("upgrade", upTask); await run("upgrade", upTask); await state(); await run("release", adoptTask, { PULUMI_COMMAND_STDOUT: a1 }); await run("upgrade", { ...upTask, modules: [], extensionServices: [], timeouts: { ...upTask.timeouts } }); await state();
  }
  abort.abort(); await machines.stop(); await factory.close(); await cp.stop();
}
main().catch(e => { console.error(e); abort.abort(); process.exitCode = 1; }).finally(() => setTimeout(() => { fs.rmSync(dir, { recursive: true, force: true }); process.exit(); }, 1500));
