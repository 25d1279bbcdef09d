import { execFileSync } from "node:child_process";
import * as path from "node:path";
import type { ToolDefinition } from "../../tools/definition";
import { narrateTools } from "../../tools/events";
import { provide, type ProvideOptions } from "../../tools/provide";
import { Sandbox } from "./fixture";
import { ReleasePage, sha256 } from "./release-page";

const address = "https://releases.example/helm-${version}-${os}-${arch}";
export const platforms = ["linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"];

/** A script that prints a word and its arguments. */
export const program = (word: string): string => `#!/bin/sh\necho ${word} "$@"\n`;
export const says = (binary: string, ...args: string[]): string =>
  execFileSync(binary, args, { encoding: "utf8" }).trim();

/** A tool with a page of releases. It prints `from source` if it was built. */
export class PublishedTool {
  readonly sandbox = new Sandbox();
  readonly options: ProvideOptions & { env: NodeJS.ProcessEnv };
  tool: ToolDefinition;

  private constructor(readonly page: ReleasePage) {
    const { folder } = this.sandbox.tool(
      'package main\n\nfunc main() { println("from source") }\n',
    );
    this.tool = {
      name: "helm",
      package: "example.test/tool",
      stamps: [],
      modules: {
        require: ["example.test/tool v1.2.3"],
        replace: [`example.test/tool => ${folder!}`],
      },
      release: {
        platforms,
        files: [
          { of: "example.test/tool", programs: ["helm"], address, sums: `${address}.sha256` },
        ],
      },
    };
    this.options = {
      env: { ...this.sandbox.env(), TALOS_GPU_LAB_RELEASES: page.url },
      onEvent: (event) => this.sandbox.events.push(event),
    };
  }

  static async make(): Promise<PublishedTool> {
    return new PublishedTool(await new ReleasePage().open());
  }

  async remove(): Promise<void> {
    await this.page.close();
    this.sandbox.remove();
  }

  /** Name of the published file for this computer. */
  get name(): string {
    const arch = { x64: "amd64" }[process.arch as string] ?? process.arch;
    return `helm-v1.2.3-${process.platform}-${arch}`;
  }

  get file(): string {
    return `https://releases.example/${this.name}`;
  }

  publish(content: string | Buffer = program("published"), sum = sha256(content)): void {
    this.page.put(this.file, content);
    this.page.put(`${this.file}.sha256`, sum);
  }

  async provide(more: Partial<ProvideOptions> = {}): Promise<string> {
    return (await provide([this.tool], { ...this.options, ...more }))["helm"]!;
  }

  /** Provides the tool, and expects that it was built and that nothing of a download remains. */
  async builds(more?: Partial<ProvideOptions>): Promise<void> {
    const binary = await this.provide(more);
    expect(execFileSync("sh", ["-c", `'${binary}' 2>&1`], { encoding: "utf8" })).toBe(
      "from source\n",
    );
    expect(this.sandbox.cached()).toEqual([path.basename(path.dirname(binary))]);
  }

  /** Lines that the user sees. */
  said(): string[] {
    const lines: string[] = [];
    for (const event of this.sandbox.events)
      narrateTools((line) => lines.push(line.replaceAll(this.page.host, "HOST")))(event);
    return lines;
  }
}
