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

const run = (...args: string[]): string => at(`file://${folder}`, ...args);

const at = (backend: string, ...args: string[]): string =>
  execFileSync(pulumi!, args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    env: bareEnvironment(folder, { PULUMI_BACKEND_URL: backend }),
  });

const state = path.join(folder, ".pulumi/stacks/p/a.json");
const isWhole = (): void =>
  expect(JSON.parse(run("stack", "export"))).toMatchObject({ version: 3 });

(pulumi === undefined ? describe.skip : describe)(
  "state files after Pulumi was killed, or the power failed, during a write",
  () => {
    beforeAll(() => {
      fs.writeFileSync(path.join(folder, "Pulumi.yaml"), "name: p\nruntime: yaml\n");
      run("stack", "init", "a");
      fs.writeFileSync(path.join(folder, "state.json"), run("stack", "export"));
      run("stack", "import", "--file", "state.json");
    });

    test("Pulumi reports a truncated state file, and the backup next to it has the previous state", () => {
      fs.truncateSync(state);
      expect(() => run("stack", "export")).toThrow(
        /failed to load checkpoint: .*unexpected end of JSON input/,
      );
      fs.copyFileSync(`${state}.bak`, state);
      isWhole();
    });

    // Pulumi replaces the file of the state in one step, but writes its attributes in place (gocloud.dev,
    // blob/fileblob, setAttrs).
    test.each([0, 100])(
      "a state with an attribute file of %d bytes can be read after that file is deleted",
      (length) => {
        fs.truncateSync(`${state}.attrs`, length);
        const cutOff = /failed to load checkpoint: (.*unexpected )?EOF/;
        expect(() => run("stack", "export")).toThrow(cutOff);
        fs.copyFileSync(`${state}.bak`, state);
        expect(() => run("stack", "export")).toThrow(cutOff);
        fs.rmSync(`${state}.attrs`);
        isWhole();
        run("stack", "import", "--file", "state.json");
        expect(fs.existsSync(`${state}.attrs`)).toBe(true);
      },
    );

    test("with metadata=skip in the backend's URL, Pulumi writes no attribute file", () => {
      fs.rmSync(`${state}.attrs`);
      at(
        `file://${folder}?metadata=skip`,
        "stack",
        "import",
        "--stack",
        "a",
        "--file",
        "state.json",
      );
      expect(fs.existsSync(`${state}.attrs`)).toBe(false);
      isWhole();
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
      const refused = /^error: (EOF|unexpected end of JSON input)$/m;
      expect(() => run("refresh", "--yes")).toThrow(refused);
      run("cancel", "--yes");
      expect(fs.readdirSync(locks)).toEqual([]);
    });
  },
);
