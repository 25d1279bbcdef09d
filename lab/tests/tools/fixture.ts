import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import type { ToolDefinition } from "../../tools/definition";
import type { ToolEvent } from "../../tools/events";

/**
 * Go's build cache with the compiled standard library. It is passed on, since Go would otherwise look for it in the
 * test's cache folder.
 */
const goCache = execFileSync("go", ["env", "GOCACHE"], { encoding: "utf8" }).trim();

/** A new folder for one test, with functions that make the files of a tool. */
export class Sandbox {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-tools-"));
  readonly events: ToolEvent[] = [];

  /** Writes the sources of a small tool, whose version the linker sets. */
  createTool(source = versionProgram): ToolDefinition {
    this.write("module/go.mod", "module example.test/tool\n\ngo 1.26.0\n");
    this.write("module/main.go", source);
    return {
      name: "helm",
      folder: path.join(this.folder, "module"),
      package: ".",
      stamps: ["main.version=v3.1.2"],
    };
  }

  /** An environment with a cache folder of its own, and with the given folder first on PATH. */
  env(folderOnPath = ""): NodeJS.ProcessEnv {
    const env = {
      ...process.env,
      XDG_CACHE_HOME: path.join(this.folder, "cache"),
      GOCACHE: goCache,
    };
    return folderOnPath === ""
      ? env
      : {
          ...env,
          PATH: `${path.join(this.folder, folderOnPath)}${path.delimiter}${process.env.PATH}`,
        };
  }

  /** Writes a file, and makes the folders above it. */
  write(name: string, content: string, mode = 0o644): string {
    const file = path.join(this.folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content, { mode });
    return file;
  }

  read(name: string): string {
    return fs.readFileSync(path.join(this.folder, name), "utf8");
  }

  /** Writes an executable shell script. */
  writeScript(name: string, body: string): string {
    return this.write(name, `#!/bin/sh\n${body}\n`, 0o755);
  }

  /** The cache's entries, sorted. */
  cacheEntries(): string[] {
    const cache = path.join(this.folder, "cache/talos-gpu/tools");
    return fs.existsSync(cache) ? fs.readdirSync(cache).sort() : [];
  }

  /** States of the tools' events, in order. A state that repeats occurs once. */
  eventStates(): string[] {
    return this.events
      .map(({ state }) => state)
      .filter((state, index, states) => state !== states[index - 1]);
  }

  remove(): void {
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

const versionProgram = `package main

var version = "unstamped"

func main() { println(version) }
`;
