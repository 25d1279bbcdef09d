import { execFileSync } from "node:child_process";
import * as path from "node:path";
import type { ToolDefinition } from "../../tools/definition";
import { narrateTools } from "../../tools/events";
import { provide, type ProvideOptions } from "../../tools/provide";
import { Sandbox } from "./fixture";
import { ReleasePage, sha256 } from "./release-page";

const addressTemplate = "https://releases.example/helm-${version}-${os}-${arch}";
export const platforms = ["linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"];

/** A shell script that prints a word and its own arguments. */
export const echoScript = (word: string): string => `#!/bin/sh\necho ${word} "$@"\n`;
/** What a program prints to standard output. */
export const outputOf = (binary: string, ...args: string[]): string =>
  execFileSync(binary, args, { encoding: "utf8" }).trim();

/** A tool and a page with its releases. The tool prints `from source` if it was built. */
export class PublishedTool {
  readonly sandbox = new Sandbox();
  readonly options: ProvideOptions & { env: NodeJS.ProcessEnv };
  definition: ToolDefinition;

  private constructor(readonly page: ReleasePage) {
    const { folder } = this.sandbox.createTool(
      'package main\n\nfunc main() { println("from source") }\n',
    );
    this.definition = {
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
          {
            of: "example.test/tool",
            programs: ["helm"],
            address: addressTemplate,
            sums: `${addressTemplate}.sha256`,
          },
        ],
      },
    };
    this.options = {
      env: { ...this.sandbox.env(), TALOS_GPU_LAB_RELEASES: page.url },
      onEvent: (event) => this.sandbox.events.push(event),
    };
  }

  static async create(): Promise<PublishedTool> {
    return new PublishedTool(await new ReleasePage().open());
  }

  async remove(): Promise<void> {
    await this.page.close();
    this.sandbox.remove();
  }

  /** Name of the published file for this computer. */
  get fileName(): string {
    const arch = { x64: "amd64" }[process.arch as string] ?? process.arch;
    return `helm-v1.2.3-${process.platform}-${arch}`;
  }

  /** Address of that file. */
  get fileAddress(): string {
    return `https://releases.example/${this.fileName}`;
  }

  /** Puts the tool's file and its sum on the page. */
  publish(content: string | Buffer = echoScript("published"), sum = sha256(content)): void {
    this.page.put(this.fileAddress, content);
    this.page.put(`${this.fileAddress}.sha256`, sum);
  }

  async provide(overrides: Partial<ProvideOptions> = {}): Promise<string> {
    return (await provide([this.definition], { ...this.options, ...overrides }))["helm"]!;
  }

  /** Provides the tool, and expects that it was built and that nothing of a download remains. */
  async expectBuildFromSource(overrides?: Partial<ProvideOptions>): Promise<void> {
    const binary = await this.provide(overrides);
    expect(execFileSync("sh", ["-c", `'${binary}' 2>&1`], { encoding: "utf8" })).toBe(
      "from source\n",
    );
    expect(this.sandbox.cacheEntries()).toEqual([path.basename(path.dirname(binary))]);
  }

  /** The lines that the user sees, with HOST for the page's host. */
  messages(): string[] {
    const lines: string[] = [];
    for (const event of this.sandbox.events)
      narrateTools((line) => lines.push(line.replaceAll(this.page.host, "HOST")))(event);
    return lines;
  }
}
