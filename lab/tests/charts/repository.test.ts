import { execFile } from "node:child_process";
import * as fs from "node:fs";
import { createServer } from "node:http";
import * as net from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { gpuProviders, leaderWorkerSet } from "../../../components/recipe/facts/gpu-provider";
import { type ChartRepository, serveCharts } from "../../charts/repository";
import { listen } from "../../loopback";
import { provideTools } from "../../tools";

// Helm itself, started by the script that leads it to the lab's charts. macOS has no such script.
const describeOnLinux = process.platform === "linux" ? describe : describe.skip;

describeOnLinux("Helm gets the lab's charts from their real addresses", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-charts-"));
  let charts: ChartRepository;
  let helm: string;
  let proxy: string;
  beforeAll(async () => {
    const tools = await provideTools({ only: ["helm", "controlplane"] });
    const dir = path.join(folder, "charts");
    charts = await serveCharts({ dir, controlPlane: tools.controlplane });
    helm = await charts.redirect(tools.helm);
    proxy = /HTTPS_PROXY='([^']*)'/.exec(fs.readFileSync(helm, "utf8"))![1]!;
  });
  afterAll(async () => {
    await charts.close();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** Name and version of a chart that Helm fetched. */
  async function fetchedChart(...args: string[]): Promise<string> {
    const env = { PATH: process.env["PATH"], HOME: folder, TALOS_GPU_CHARTS: charts.addressOf("") };
    const { stdout } = await promisify(execFile)(helm, ["show", "chart", ...args], { env });
    const valueOf = (key: string): string => new RegExp(`^${key}: (.*)$`, "m").exec(stdout)![1]!;
    return `${valueOf("name")} ${valueOf("version")}`;
  }

  test.each([
    ["gpu-operator", gpuProviders.operator.repository, "v25.10.1"],
    ["nvidia-device-plugin", gpuProviders.devicePlugin.repository, "0.17.4"],
  ])("%s from a repository with an index", async (chart, repository, version) => {
    expect(await fetchedChart(chart, "--repo", repository, "--version", version)).toBe(
      `${chart} ${version}`,
    );
  });

  test.each([
    ["dra-driver-nvidia-gpu", gpuProviders.dra.repository, "0.5.0"],
    [leaderWorkerSet.chart, leaderWorkerSet.repository, "0.9.0"],
  ])("%s from a registry", async (chart, repository, version) => {
    expect(await fetchedChart(`${repository}/${chart}`, "--version", version)).toBe(
      `${chart} ${version}`,
    );
    // Without a version, Helm chooses the newest of the registry's tags.
    expect(await fetchedChart(`${repository}/${chart}`)).toMatch(new RegExp(`^${chart} `));
  });

  test("a mirror that a stack names, with a port, has the release that the stack installs", async () => {
    charts.offer("nvidia-device-plugin", "0.99.0", "oci://mirror.example:5000/charts");
    expect(
      await fetchedChart(
        "oci://mirror.example:5000/charts/nvidia-device-plugin",
        "--version",
        "0.99.0",
      ),
    ).toBe("nvidia-device-plugin 0.99.0");
  });

  test("a release that the lab lacks is not found", async () => {
    await expect(
      fetchedChart(`${gpuProviders.dra.repository}/dra-driver-nvidia-gpu`, "--version", "9.9.9"),
    ).rejects.toThrow(/not found/);
  });

  test("the proxy connects its clients with any other server", async () => {
    const { port, close } = await listen(createServer((_, response) => response.end("the other")));
    const socket = net.connect(Number(new URL(proxy).port), "127.0.0.1");
    socket.setEncoding("utf8").write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    let received = "";
    for await (const text of socket) {
      if (received === "")
        socket.write("GET / HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n");
      received += text as string;
    }
    expect(received).toMatch(/^HTTP\/1.1 200 .*the other/s);
    await close();
  });

  test("the proxy refuses a request whose host it cannot read", async () => {
    const socket = net.connect(Number(new URL(proxy).port), "127.0.0.1");
    socket.setEncoding("utf8").write("CONNECT nowhere HTTP/1.1\r\n\r\n");
    let received = "";
    for await (const text of socket) received += text as string;
    expect(received).toMatch(/^HTTP\/1.1 400 /);
  });
});
