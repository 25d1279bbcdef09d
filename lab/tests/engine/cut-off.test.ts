import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { builtTool } from "../built-tool";
import { bareEnvironment } from "./bare-environment";

// docs/troubleshooting.md has the remedy for a state whose writing was interrupted. This test tries the remedy with
// the real CLI.

const pulumi = builtTool("pulumi");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "cut-off-test-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const runPulumi = (...args: string[]): string => runPulumiWithBackend(`file://${folder}`, ...args);

const runPulumiWithBackend = (backend: string, ...args: string[]): string =>
  execFileSync(pulumi!, args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: bareEnvironment(folder, { PULUMI_BACKEND_URL: backend }),
  });

const stateFile = path.join(folder, ".pulumi/stacks/p/a.json");
const exportState = (): unknown => JSON.parse(runPulumi("stack", "export"));

/** Writes a state with one resource into `<name>.json`. */
function writeState(name: string): void {
  const urn = `urn:pulumi:a::p::pulumi:pulumi:Stack::${name}`;
  const deployment = {
    manifest: { time: "2026-01-01T00:00:00Z", magic: "", version: "" },
    resources: [{ urn, custom: false, type: "pulumi:pulumi:Stack" }],
  };
  fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify({ version: 3, deployment }));
}

(pulumi === undefined ? describe.skip : describe)(
  "state files after Pulumi was killed, or the power failed, during a write",
  () => {
    let previousState: unknown;
    let newestState: unknown;

    beforeAll(() => {
      fs.writeFileSync(path.join(folder, "Pulumi.yaml"), "name: p\nruntime: yaml\n");
      runPulumi("stack", "init", "a");
      writeState("previous");
      writeState("newest");
      runPulumi("stack", "import", "--file", "previous.json");
      previousState = exportState();
      runPulumi("stack", "import", "--file", "newest.json");
      newestState = exportState();
      expect(newestState).not.toEqual(previousState);
    });

    test("Pulumi reports a truncated state file, and the backup next to it has the previous state", () => {
      fs.truncateSync(stateFile);
      expect(() => runPulumi("stack", "export")).toThrow(
        /failed to load checkpoint: .*unexpected end of JSON input/,
      );
      fs.copyFileSync(`${stateFile}.bak`, stateFile);
      expect(exportState()).toEqual(previousState);
    });

    // Pulumi replaces the file of the state in one step, but writes its attributes in place (gocloud.dev,
    // blob/fileblob, setAttrs).
    test.each([0, 100])(
      "a state with an attribute file of %d bytes can be read after that file is deleted",
      (length) => {
        fs.truncateSync(`${stateFile}.attrs`, length);
        const readError = /failed to load checkpoint: (.*unexpected )?EOF/;
        expect(() => runPulumi("stack", "export")).toThrow(readError);
        fs.copyFileSync(`${stateFile}.bak`, stateFile);
        expect(() => runPulumi("stack", "export")).toThrow(readError);
        fs.rmSync(`${stateFile}.attrs`);
        expect(exportState()).toEqual(previousState);
        runPulumi("stack", "import", "--file", "newest.json");
        expect(fs.existsSync(`${stateFile}.attrs`)).toBe(true);
      },
    );

    test("with metadata=skip in the backend's URL, Pulumi writes no attribute file", () => {
      fs.rmSync(`${stateFile}.attrs`);
      runPulumiWithBackend(
        `file://${folder}?metadata=skip`,
        "stack",
        "import",
        "--stack",
        "a",
        "--file",
        "newest.json",
      );
      expect(fs.existsSync(`${stateFile}.attrs`)).toBe(false);
      expect(exportState()).toEqual(newestState);
    });

    test.each([
      ["an empty attribute file", ".attrs"],
      ["no content", ""],
    ])("`pulumi cancel` removes a lock with %s", (_, suffix) => {
      const locks = path.join(folder, ".pulumi/locks/organization/p/a");
      const lock = path.join(locks, "11111111-1111-1111-1111-111111111111.json");
      fs.mkdirSync(locks, { recursive: true });
      fs.writeFileSync(
        lock,
        JSON.stringify({ pid: 1, username: "u", hostname: "h", timestamp: "2026-01-01T00:00:00Z" }),
      );
      fs.writeFileSync(`${lock}${suffix}`, "");
      const lockError = /^error: (EOF|unexpected end of JSON input)$/m;
      expect(() => runPulumi("refresh", "--yes")).toThrow(lockError);
      runPulumi("cancel", "--yes");
      expect(fs.readdirSync(locks)).toEqual([]);
    });
  },
);
