import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import type { ToolDefinition } from "../../tools/definition";
import type { ToolEvent } from "../../tools/events";

/** Go's own cache, with what it has compiled of the standard library; it lies in the user's cache folder otherwise. */
const goCache = execFileSync("go", ["env", "GOCACHE"], { encoding: "utf8" }).trim();

/** A folder of its own for one test, and what a tool's test needs in it. */
export class Sandbox {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-tools-"));
  readonly events: ToolEvent[] = [];

  /** A tool whose sources are a few lines, its version stamped by the linker. */
  tool(source = program): ToolDefinition {
    this.write("module/go.mod", "module example.test/tool\n\ngo 1.26.0\n");
    this.write("module/main.go", source);
    return {
      name: "helm",
      folder: path.join(this.folder, "module"),
      package: ".",
      stamps: ["main.version=v3.1.2"],
    };
  }

  /** An environment with a cache of its own, and the given folder first on PATH. */
  env(bin = ""): NodeJS.ProcessEnv {
    const env = {
      ...process.env,
      XDG_CACHE_HOME: path.join(this.folder, "cache"),
      GOCACHE: goCache,
    };
    return bin === ""
      ? env
      : { ...env, PATH: `${path.join(this.folder, bin)}${path.delimiter}${process.env.PATH}` };
  }

  /** Writes a file, with the folders above it. */
  write(name: string, content: string, mode = 0o644): string {
    const file = path.join(this.folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content, { mode });
    return file;
  }

  read(name: string): string {
    return fs.readFileSync(path.join(this.folder, name), "utf8");
  }

  /** A shell script that can be run. */
  script(name: string, body: string): string {
    return this.write(name, `#!/bin/sh\n${body}\n`, 0o755);
  }

  /** What is in the cache, sorted. */
  cached(): string[] {
    const cache = path.join(this.folder, "cache/talos-gpu/tools");
    return fs.existsSync(cache) ? fs.readdirSync(cache).sort() : [];
  }

  states(): string[] {
    return this.events
      .map(({ state }) => state)
      .filter((state, index, all) => state !== all[index - 1]);
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

const program = `package main

var version = "unstamped"

func main() { println(version) }
`;
