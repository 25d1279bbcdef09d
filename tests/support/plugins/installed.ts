import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as readline from "node:readline";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import type { Properties } from "../../../lab/providers/provider";
import { sdkMessage } from "../../../lab/providers/values";
import { repository } from "../../../stacks/stack-file";

const { Struct } = sdkMessage("struct_pb");

/** Packages with the resources that the stacks register, by the name of their plugin. */
const packages: Record<string, string> = {
  kubernetes: "@pulumi/kubernetes",
  command: "@pulumi/command",
  talos: "@pulumiverse/talos",
};

/**
 * File of an installed provider plugin of the release that the stacks' program needs. It is on PATH, or where
 * `pulumi plugin install` puts it (pulumi/pulumi v3.259.0, sdk/go/common/workspace/plugins.go, DirPath). Undefined
 * if it is not installed.
 */
export function findInstalledPlugin(name: string): string | undefined {
  const file = path.join(repository, "node_modules", packages[name]!, "package.json");
  const { version } = JSON.parse(fs.readFileSync(file, "utf8")) as { version: string };
  const home = process.env["PULUMI_HOME"] ?? path.join(os.homedir(), ".pulumi");
  const folders = [
    ...(process.env["PATH"] ?? "").split(path.delimiter),
    path.join(home, "plugins", `resource-${name}-v${version.replace(/^v/, "")}`),
  ];
  return folders
    .map((folder) => path.join(folder, `pulumi-resource-${name}`))
    .find((file) => fs.existsSync(file));
}

/** A real provider plugin, which is called as the engine calls it. */
export class InstalledProvider {
  private constructor(
    private readonly child: ChildProcess,
    private readonly client: ResourceProviderClient,
  ) {}

  /** Starts the plugin, and configures it. */
  static async start(
    file: string,
    config: Record<string, string> = {},
  ): Promise<InstalledProvider> {
    // The argument is the engine's address, to which the plugin would send its log. Nothing listens there.
    const child = spawn(file, ["127.0.0.1:1"], { stdio: ["ignore", "pipe", "ignore"] });
    const port = await new Promise<string>((resolve, reject) => {
      readline.createInterface({ input: child.stdout }).once("line", resolve);
      child.once("exit", (code) => reject(new Error(`${file} ended: ${code}`)));
    });
    const provider = new InstalledProvider(
      child,
      new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure()),
    );
    const request = new messages.ConfigureRequest();
    for (const [key, value] of Object.entries(config)) request.getVariablesMap().set(key, value);
    request.setArgs(Struct.fromJavaScript(config));
    request.setAcceptsecrets(true);
    request.setAcceptresources(true);
    await provider.call((done) => provider.client.configure(request, done));
    return provider;
  }

  /** The failures that the plugin's `check` returns. */
  async check(type: string, inputs: Properties): Promise<{ property: string; reason: string }[]> {
    const request = new messages.CheckRequest();
    request.setUrn(`urn:pulumi:it::it::${type}::it`);
    const definedInputs = Object.fromEntries(
      Object.entries(inputs).filter(([, value]) => value !== undefined),
    );
    request.setNews(Struct.fromJavaScript(definedInputs as never));
    request.setOlds(Struct.fromJavaScript({}));
    request.setRandomseed(new Uint8Array(32));
    const response = await this.call<messages.CheckResponse>((done) =>
      this.client.check(request, done),
    );
    return response
      .getFailuresList()
      .map((failure) => ({ property: failure.getProperty(), reason: failure.getReason() }));
  }

  stop(): void {
    this.client.close();
    this.child.kill("SIGKILL");
  }

  private call<Response>(
    send: (done: (error: ServiceError | null, response: Response) => void) => void,
  ) {
    return new Promise<Response>((resolve, reject) =>
      send((error, response) => (error === null ? resolve(response) : reject(error))),
    );
  }
}
