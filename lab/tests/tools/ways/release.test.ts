import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import * as path from "node:path";

import { catalogue } from "../../../tools/catalogue";
import type { ToolDefinition } from "../../../tools/definition";
import { download } from "../../../tools/ways/release";
import { Sandbox } from "../fixture";

const platform = { os: "linux", arch: "amd64" };
const env = {};
const script = "#!/bin/sh\necho released\n";

/** Files of each release as its project lays them out; a server that has no other. */
const layouts: Record<string, { file: string; sums: string; members?: string[] }> = {
  pulumi: {
    file: "pulumi-v3.259.0-linux-x64.tar.gz",
    sums: "pulumi-3.259.0-checksums.txt",
    members: ["pulumi/pulumi", "pulumi/pulumi-language-nodejs"],
  },
  talosctl: { file: "talosctl-linux-amd64", sums: "sha256sum.txt" },
  helm: {
    file: "helm-v3.22.0-linux-amd64.tar.gz",
    sums: "helm-v3.22.0-linux-amd64.tar.gz.sha256sum",
    members: ["linux-amd64/helm"],
  },
};

describe("a published release", () => {
  let sandbox: Sandbox;
  let server: http.Server;
  let served: Record<string, Buffer>;
  let binary: string;
  beforeEach(async () => {
    sandbox = new Sandbox();
    binary = path.join(sandbox.folder, "cache/helm-0/helm");
    served = {};
    server = http.createServer((request, response) => {
      const content = served[request.url ?? ""];
      response.statusCode = content === undefined ? 404 : 200;
      response.end(content);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(async () => {
    await new Promise((resolve) => server.close(resolve));
    sandbox.remove();
  });

  /** A tool of the catalogue whose project is the server, with its release there. */
  function publish(name: string, change: (sums: string) => string = (sums) => sums): ToolDefinition {
    const tool = catalogue.find((each) => each.name === name)!;
    const { file, sums, members } = layouts[name]!;
    let content = Buffer.from(script);
    if (members !== undefined) {
      for (const member of [...members, "licence"]) sandbox.write(`release/${member}`, script);
      content = execFileSync("tar", ["-czf", "-", ...members, "licence"], {
        cwd: path.join(sandbox.folder, "release"),
      });
    }
    const sum = createHash("sha256").update(content).digest("hex");
    served[`/${file}`] = content;
    served[`/${sums}`] = Buffer.from(change(`${"0".repeat(64)}  another-file\n${sum}  ${file}\n`));
    const { port } = server.address() as AddressInfo;
    return { ...tool, release: { ...tool.release!, folder: `http://127.0.0.1:${port}` } };
  }

  test.each(Object.entries(layouts))(
    "of %s is taken as it is laid out, and nothing else stays",
    async (name, layout) => {
      const folder = path.dirname(binary);
      expect(await download(publish(name), binary, { platform, env })).toBeUndefined();
      expect(execFileSync(binary, { encoding: "utf8" })).toBe("released\n");
      expect(fs.readdirSync(path.dirname(folder))).toEqual(["helm-0"]);
      // Pulumi's archive has its language hosts beside the CLI.
      const beside = (layout.members ?? []).slice(1).map((member) => path.basename(member));
      expect(fs.readdirSync(folder).sort()).toEqual([path.basename(binary), ...beside].sort());
      for (const each of beside) expect(execFileSync(path.join(folder, each), { encoding: "utf8" })).toBe("released\n");
    },
  );

  test.each<[string, (sums: string) => string, RegExp]>([
    [
      "has another sum than the published one",
      (sums) => sums.replace(/[0-9a-f]{64} {2}helm/, `${"1".repeat(64)}  helm`),
      /has the SHA-256 sum .*, published is 1+: it is not taken/,
    ],
    ["is not among the published sums", () => "", /does not list helm-v3/],
  ])("that %s is not taken", async (_what, change, reason) => {
    expect(await download(publish("helm", change), binary, { platform, env })).toMatch(reason);
    expect(fs.existsSync(binary)).toBe(false);
  });

  test("that is not there, or not wanted, is said so, and the tool is built", async () => {
    const tool = publish("talosctl");
    expect(await download(tool, binary, { platform: { os: "plan9", arch: "386" }, env })).toMatch(
      /none for plan9\/386/,
    );
    expect(await download(tool, binary, { platform, env: { TALOS_GPU_DOWNLOAD: "0" } })).toBe("TALOS_GPU_DOWNLOAD=0");
    served = {};
    expect(await download(tool, binary, { platform, env })).toMatch(/sha256sum.txt: 404/);
    const release = { ...tool.release!, folder: "http://127.0.0.1:1" };
    expect(await download({ ...tool, release }, binary, { platform, env })).toBe("127.0.0.1:1 does not answer");
  });

  test("is of the version that is built where it cannot be had", () => {
    for (const { modules, package: main, release, name } of catalogue) {
      if (release === undefined) continue;
      const module = main.replace(/\/cmd\/.*$/, "");
      const pinned = modules?.require.find((each) => each.startsWith(`${module} v`))?.slice(module.length + 2);
      expect({ name, file: `${release.folder} ${release.file(platform)}` }).toEqual({
        name,
        file: expect.stringContaining(`v${pinned}`),
      });
    }
  });
});
