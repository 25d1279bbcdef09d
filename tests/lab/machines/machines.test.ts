import { untilSeen } from "../../../lab/until";
import { modulesPatch, openStand, plainSchematic, type Said, type Stand } from "./stand";

jest.setTimeout(120_000);

const legacy = "10.9.0.12";
const cdi = "10.9.0.13";
const patience = { seconds: 60, every: 100 };

let stand: Stand;

beforeAll(async () => {
  stand = await openStand();
}, 1_800_000);

afterAll(() => stand?.close());

/** Resources of a machine: what `talosctl get TYPE -o json` prints, one document after the other. */
async function resources<Spec>(
  node: string,
  ...what: string[]
): Promise<{ id: string; version: string; spec: Spec }[]> {
  const said = ok(await stand.talosctl("-n", node, "get", ...what, "--output", "json"));
  return said.stdout
    .split(/^(?=\{)/m)
    .filter((text) => text.trim() !== "")
    .map((text) => {
      const { metadata, spec } = JSON.parse(text) as { metadata: { id: unknown; version: unknown }; spec: Spec };
      return { id: String(metadata.id), version: String(metadata.version), spec };
    });
}

function ok(said: Said): Said {
  if (said.code !== 0) throw new Error(`talosctl ended with ${said.code}: ${said.stderr}`);
  return said;
}

async function read(node: string, file: string): Promise<string> {
  return ok(await stand.talosctl("-n", node, "read", file)).stdout;
}

async function extensions(node: string): Promise<Record<string, string>> {
  const list = await resources<{ metadata: { name: string; version: string } }>(node, "extensions");
  return Object.fromEntries(list.map(({ spec }) => [spec.metadata.name, spec.metadata.version]));
}

async function services(node: string): Promise<Record<string, string>> {
  const said = ok(await stand.talosctl("-n", node, "services"));
  const rows = said.stdout.trim().split("\n").slice(1);
  return Object.fromEntries(rows.map((row) => row.split(/\s+/).slice(1, 3)));
}

const image = (schematic: string, version: string): string =>
  `factory.talos.dev/metal-installer/${schematic}:${version}`;

describe("one endpoint for all machines", () => {
  test("routes by node, and answers for several at a time", async () => {
    const said = ok(await stand.talosctl("-n", `${legacy},${cdi}`, "version"));
    expect(said.stdout).toMatch(/NODE:\s+10\.9\.0\.12\s+Tag:\s+v1\.12\.6/);
    expect(said.stdout).toMatch(/NODE:\s+10\.9\.0\.13\s+Tag:\s+v1\.13\.0/);
  });

  test("has no route to a machine that is not there", async () => {
    const said = await stand.talosctl("-n", "10.9.0.99", "version");
    expect(said.code).toBe(1);
    expect(said.stderr).toContain("10.9.0.99");
    expect(said.stderr).toContain("no route to host");
  });

  test("serves nobody whose certificate another authority signed", async () => {
    const dir = "strangers";
    ok(await stand.talosctl("gen", "config", "other", "https://10.9.0.1:6443", "--output", dir));
    const said = await stand.talosctl(
      "--talosconfig",
      `${dir}/talosconfig`,
      "-e",
      stand.machines.api,
      "-n",
      legacy,
      "version",
    );
    expect(said.code).toBe(1);
    expect(said.stderr).toMatch(/certificate|authority/);
  });
});

describe("Talos 1.12", () => {
  test("starts without extensions, on the plain image", async () => {
    expect(await extensions(legacy)).toEqual({ schematic: plainSchematic });
    expect((await stand.talosctl("-n", legacy, "read", "/proc/driver/nvidia/version")).stderr).toContain(
      "no such file",
    );
    const [status] = await resources<{ stage: string; status: { ready: boolean } }>(legacy, "machinestatus");
    expect(status?.spec).toMatchObject({ stage: "running", status: { ready: true } });
  });

  test("a staged configuration is on disk, not in use, until the upgrade's reboot; one reboot does both", async () => {
    const file = await stand.configuration("staged", modulesPatch);
    ok(await stand.talosctl("-n", legacy, "apply-config", "--file", file, "--mode", "staged"));
    const configurations = await resources<string>(legacy, "machineconfig");
    const byId = Object.fromEntries(configurations.map(({ id, spec }) => [id, JSON.stringify(spec)]));
    expect(byId["persistent"]).toContain("nvidia_uvm");
    expect(byId["v1alpha1"]).not.toContain("nvidia_uvm");

    const before = await read(legacy, "/proc/sys/kernel/random/boot_id");
    const wanted = image(stand.gpuSchematic, "v1.12.6");
    const said = ok(await stand.talosctl("-n", legacy, "upgrade", "--image", wanted, "--drain=false", "--wait"));
    expect(said.stderr).toContain("falling back to legacy");

    expect(await read(legacy, "/proc/sys/kernel/random/boot_id")).not.toBe(before);
    expect(await extensions(legacy)).toEqual({
      "nvidia-container-toolkit-production": "570.211.01-v1.18.2",
      "modules.dep": expect.any(String), // seen on Talos v1.13.0
      "nvidia-open-gpu-kernel-modules-production": "570.211.01-v1.12.6",
      schematic: stand.gpuSchematic,
    });
    expect(await read(legacy, "/proc/driver/nvidia/version")).toContain("Open Kernel Module for x86_64  570.211.01");
    expect(await read(legacy, "/proc/modules")).toMatch(/^nvidia_uvm .* Live /m);
    expect(await services(legacy)).toMatchObject({ kubelet: "Running", "ext-nvidia-persistenced": "Running" });
    expect(await read(legacy, "/etc/cri/conf.d/cri.toml")).toContain("/usr/local/bin/nvidia-container-runtime");
    expect((await stand.machines.state())["legacy"]).toMatchObject({
      reboots: 1,
      upgrades: 1,
      driverVersion: "570.211.01",
    });
  });

  test("two files for the containerd part stop the boot; a corrected configuration mends it", async () => {
    const item = "{path: /etc/cri/conf.d/20-customization.part, op: create, permissions: 0o644, content: '[plugins]'}";
    const broken = await stand.configuration("broken", `${modulesPatch}  files: [${item}, ${item}]\n`);
    const good = await stand.configuration("good", modulesPatch);
    const applied = ok(await stand.talosctl("-n", legacy, "apply-config", "--file", broken));
    expect(applied.stderr).toContain("Applied configuration with a reboot");
    const said = async (): Promise<string> => (await stand.talosctl("-n", legacy, "dmesg")).stdout;
    await untilSeen("the boot stops", patience, said, (text) => text.includes("already exists"));
    expect(await services(legacy)).not.toHaveProperty("kubelet");
    ok(await stand.talosctl("-n", legacy, "apply-config", "--file", good));
    const stage = async (): Promise<string | undefined> => (await stand.machines.state())["legacy"]?.stage;
    await untilSeen("the machine runs", patience, stage, (now) => now === "running");
    expect(await services(legacy)).toMatchObject({ kubelet: "Running" });
  });
});

describe("Talos 1.13", () => {
  test("applies modules live, and upgrades through the new API", async () => {
    const file = await stand.configuration("live", modulesPatch);
    const applied = ok(await stand.talosctl("-n", cdi, "apply-config", "--file", file));
    expect(applied.stderr).toContain("Applied configuration without a reboot");

    const wanted = image(stand.gpuSchematic, "v1.13.0");
    const said = ok(
      await stand.talosctl("-n", cdi, "upgrade", "--image", wanted, "--drain=false", "--progress", "plain"),
    );
    expect(said.stderr + said.stdout).toContain("pulled image");
    expect(said.stderr + said.stdout).not.toContain("falling back to legacy");
    expect((await extensions(cdi))["schematic"]).toBe(stand.gpuSchematic);
    expect(await services(cdi)).toMatchObject({
      "ext-nvidia-persistenced": "Running",
      "ext-nvidia-cdi-gen": "Finished",
    });
    expect(await read(cdi, "/run/cdi/nvidia.yaml")).toContain("nvidia.com/gpu");
    expect((await stand.machines.state())["cdi"]).toMatchObject({
      reboots: 1,
      upgrades: 1,
      driverVersion: "595.58.03",
    });
  });

  test("an image that the Factory does not make is an error of the pull, and changes nothing", async () => {
    const said = await stand.talosctl(
      "-n",
      cdi,
      "upgrade",
      "--image",
      image("0".repeat(64), "v1.13.0"),
      "--drain=false",
    );
    expect(said.code).toBe(1);
    expect(said.stderr).toMatch(/404/);
    expect((await stand.machines.state())["cdi"]).toMatchObject({ reboots: 1, upgrades: 1 });
  });

  test("a slot that does not boot is rolled back, and talosctl does not notice", async () => {
    await stand.machines.fault("cdi", { kind: "rollback" });
    ok(await stand.talosctl("-n", cdi, "upgrade", "--image", image(plainSchematic, "v1.13.0"), "--drain=false"));
    expect((await extensions(cdi))["schematic"]).toBe(stand.gpuSchematic);
  });

  test("a refused call, a lost answer", async () => {
    await stand.machines.fault("cdi", { kind: "refuse" });
    expect((await stand.talosctl("-n", cdi, "version")).stderr).toContain("connection refused");
    await stand.machines.fault("cdi", { kind: "drop-connection" });
    expect((await stand.talosctl("-n", cdi, "version")).stderr).toContain("Unavailable");
    ok(await stand.talosctl("-n", cdi, "version"));
    await expect(stand.machines.fault("cdi", { kind: "fire" })).rejects.toThrow("is no fault");
  });
});
