import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { keepTalosctlReady, readyOf } from "../../../lab/tools/ready-talosctl";
import { provideReadyTalosctl } from "../../../lab/tools";
import { untilSeen } from "../../../lab/until";
import { cacheFolder } from "../../../lab/tools/cache";
import { builtTool } from "../built-tool";
import { processes } from "../../support/processes";
import { openStand, type Said, type Stand } from "./stand";

// A talosctl that is kept ready says what the program itself says, whatever it was asked before.

jest.setTimeout(120_000);

const [legacy, cdi] = ["10.9.0.12", "10.9.0.13"];
/** One on PATH may be of another release, and is not kept ready. */
const program = builtTool("talosctl") ?? "";
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-ready-"));
let stand: Stand;
let kept: Awaited<ReturnType<typeof keepTalosctlReady>>;
let own: Stand["talosctl"];
let ready: Stand["talosctl"];

beforeAll(async () => {
  stand = await openStand();
  await provideReadyTalosctl();
  kept = await keepTalosctlReady(folder, program, 1);
  own = stand.by(program);
  ready = stand.by(readyOf(program, folder));
}, 1_800_000);

afterAll(async () => {
  await kept?.stop();
  await stand?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** Processes that wait, by their numbers. */
const waiting = (): number[] =>
  processes()
    .filter(({ command }) => command.includes(`wait\0${folder}\0`))
    .map(({ pid }) => pid);

/** Go's protojson puts a blank after a comma or not, by the program's hash, so that nobody relies on it. */
const withoutBlanks = ({ stdout, ...said }: Said): Said => ({ ...said, stdout: stdout.replace(/, "/g, ',"') });

// macOS has no such locks and sockets handed on; there every call starts the program.
const canBe = process.platform === "linux" && program.startsWith(cacheFolder(process.env));
const onLinux = canBe ? describe : describe.skip;

onLinux("a talosctl that is kept ready", () => {
  test("is another file than the program, and stands for that program alone", () => {
    expect(readyOf(program, folder)).toBe(path.join(folder, "talosctl"));
    expect(readyOf(process.execPath, folder)).toBe(process.execPath);
    expect(readyOf(program, path.join(folder, "nowhere"))).toBe(program);
  });

  // In one process, in this order: a flag of one call must not be there in the next.
  test.each([
    ["get extensions -o json --nodes 10.9.0.12"],
    ["get extensions --nodes 10.9.0.13"],
    ["get machineconfig -o yaml --nodes 10.9.0.12,10.9.0.13"],
    ["get machinestatus -o json --nodes 10.9.0.13"],
    ["get extensions"],
    ["version --client --short"],
    ["version --json --nodes 10.9.0.12"],
    ["version --nodes 10.9.0.13"],
    ["version --client"],
    ["read /proc/modules --nodes 10.9.0.12"],
    ["read /nothing --nodes 10.9.0.12"],
    ["read"],
    ["get nothing --nodes 10.9.0.12"],
    ["services --nodes 10.9.0.13"],
    ["get --help"],
    ["version --nonsense"],
    ["get machinestatus --nodes 10.9.0.13 --endpoints 127.0.0.1:1"],
    ["get machinestatus --nodes 10.9.0.13"],
  ])("says what the program says: %s", async (line) => {
    const before = waiting();
    const args = line.split(" ");
    expect(withoutBlanks(await ready(...args))).toEqual(withoutBlanks(await own(...args)));
    expect(waiting()).toEqual(before); // it was that one who said it, and is there for the next
  });

  test("writes what the program writes", async () => {
    const file = await stand.configuration("patched");
    const patch = ["machineconfig", "patch", file, "--patch"];
    const written: Record<string, string[]> = {};
    for (const [name, by] of Object.entries({ own, ready })) {
      const at = (part: string): string => path.join(folder, `${name}-${part}`);
      for (const said of [
        await by(...patch, "machine: {sysctls: {vm.swappiness: '7'}}", "--output", at("1")),
        await by(...patch, "machine: {sysctls: {vm.overcommit_memory: '1'}}", "--output", at("2")),
        await by(
          "gen",
          "config",
          "a",
          "https://a:6443",
          "--with-secrets",
          "secrets.yaml",
          "-t",
          "worker",
          "-o",
          at("3"),
        ),
        await by("gen", "config", "b", "https://b:6443", "--with-secrets", "secrets.yaml", "--output", at("4")),
      ])
        expect(said).toMatchObject({ code: 0 });
      const files = [at("1"), at("2"), at("3"), ...["controlplane", "worker"].map((kind) => at(`4/${kind}.yaml`))];
      written[name] = files.map((file) => fs.readFileSync(file, "utf8"));
    }
    expect(written["ready"]).toEqual(written["own"]);
    const apply = ["apply-config", "--nodes", legacy, "--file"];
    for (const line of [
      [...apply, file, "--mode", "staged", "--dry-run"],
      [...apply, file, "--dry-run"],
      [...apply, "nothing.yaml"],
    ])
      expect(await ready(...line)).toEqual(await own(...line));
  });

  test("leaves to the program what takes long, or comes while nobody waits", async () => {
    expect(await ready("image", "pull")).toEqual(await own("image", "pull"));
    await stand.machines.fault("cdi", { kind: "hang", times: 1 });
    const hung = stand.by(readyOf(program, folder), 3_000)("get", "machinestatus", "--nodes", cdi);
    const look = await ready("get", "extensions", "-o", "json", "--nodes", legacy);
    expect(look.code).toBe(0);
    expect((await hung).code).toBe(-1); // killed at its limit
  });

  test("a caller that is killed takes the one who works for it along, and another one waits in its place", async () => {
    const [before] = waiting();
    await stand.machines.fault("cdi", { kind: "hang", times: 1 });
    const hung = await stand.by(readyOf(program, folder), 1_000)("get", "machinestatus", "--nodes", cdi);
    expect(hung.code).toBe(-1);
    await untilSeen(
      "another one waits",
      { seconds: 10, every: 50 },
      () => waiting().length === 1 && waiting()[0] !== before,
      Boolean,
    );
    expect((await ready("version", "--client", "--short")).code).toBe(0);
  });

  // The lock is free before the one who worked for the killed caller has noticed, and takes a further call that it never answers.
  test("a call that comes just after a caller was killed is the program's, or that of the next one", async () => {
    for (let time = 0; time < 10; time++) {
      await stand.machines.fault("cdi", { kind: "hang", times: 1 });
      const hung = stand.by(readyOf(program, folder), 300)("get", "machinestatus", "--nodes", cdi);
      await hung;
      const said = await ready("get", "extensions", "-o", "json", "--nodes", legacy);
      expect([said.code, said.stderr]).toEqual([0, expect.not.stringContaining("kept ready")]);
    }
  });

  test("ends with whoever keeps it, and every call is then the program's", async () => {
    await kept!.stop();
    await untilSeen("nobody waits", { seconds: 10, every: 50 }, waiting, ({ length }) => length === 0);
    const line = ["get", "extensions", "-o", "json", "--nodes", legacy];
    expect(await ready(...line)).toEqual(await own(...line));
  });
});
