import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse } from "yaml";
import { provideTools } from "../../lab/tools";
import { waitUntilNothingIsLeft, startLab } from "./support/labs";

/**
 * Programs that write down their arguments, and then run the real ones. Every call of Pulumi, its Kubernetes provider,
 * talosctl and the machine programs goes through them. The one for Node.js is on PATH; the others are in a copy of the
 * cache of tools.
 *
 * @returns the environment in which a lab uses them
 */
async function installRecorders(folder: string, log: string): Promise<NodeJS.ProcessEnv> {
  const tools = await provideTools({ only: ["pulumi", "pulumi-resource-kubernetes", "talosctl"] });
  const record = (file: string, name: string, realProgram: string): void =>
    fs.writeFileSync(
      file,
      `#!/bin/sh\nprintf '%s\\n' "${name} $*" >> '${log}'\nexec '${realProgram}' "$@"\n`,
      { mode: 0o755 },
    );
  const cache = path.join(folder, "talos-gpu/tools");
  const realCache = path.resolve(tools.pulumi, "../..");
  fs.mkdirSync(cache, { recursive: true });
  for (const entry of fs.readdirSync(realCache))
    fs.symlinkSync(path.join(realCache, entry), path.join(cache, entry));
  for (const [name, program] of Object.entries(tools)) {
    const toolFolder = path.join(cache, path.basename(path.dirname(program)));
    fs.rmSync(toolFolder);
    fs.mkdirSync(toolFolder);
    record(path.join(toolFolder, path.basename(program)), name, program);
  }
  record(path.join(folder, "node"), "node", process.execPath);
  return { PATH: `${folder}${path.delimiter}${process.env.PATH}`, XDG_CACHE_HOME: folder };
}

/** Every secret string of a document: those that are long and random. */
function secretsOf(document: unknown): string[] {
  if (typeof document === "string") return document.length >= 16 ? [document] : [];
  if (typeof document !== "object" || document === null) return [];
  return Object.entries(document).flatMap(([key, value]) =>
    // Certificates are public, and so are the cluster's name and ID.
    ["crt", "ca", "id", "certificate-authority-data", "client-certificate-data", "server"].includes(
      key,
    )
      ? []
      : secretsOf(value),
  );
}

/** The text of all files in a folder whose path is wanted. */
function readAll(folder: string, isWanted: (file: string) => boolean): string {
  const files = fs
    .readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => path.join(folder, file));
  return files
    .filter((file) => isWanted(file) && fs.statSync(file).isFile())
    .map((file) => fs.readFileSync(file, "utf8"))
    .join("\n");
}

test("no secret is in an argument vector, a log line, an event or plain state", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-recorders-"));
  try {
    const log = path.join(folder, "arguments");
    const lab = startLab(["--keep", "--updates", "2"], await installRecorders(folder, log));
    const labFolder = await lab.folder();
    await lab.line(/The cluster runs until Ctrl-C/);

    const read = (file: string): unknown =>
      parse(fs.readFileSync(path.join(labFolder, file), "utf8"));
    const kubeconfig = fs.readFileSync(/KUBECONFIG=(.*)/.exec(lab.lines.join("\n"))![1]!, "utf8");
    const secrets = ["talos/secrets.yaml", "talosconfig"].flatMap((file) => secretsOf(read(file)));
    secrets.push(...secretsOf(parse(kubeconfig)));
    // 9 in the bundle, a key in the talosconfig, a key in the kubeconfig.
    expect(secrets.length).toBeGreaterThanOrEqual(11);
    // A key is also visible if only its middle is quoted, or if it is decoded.
    const searchTexts = secrets
      .flatMap((secret) => [secret, Buffer.from(secret, "base64").toString("utf8")])
      .map((text) => text.slice(40, 80) || text);
    const secretEnds = secrets.map((secret) => secret.slice(-40));

    const places: Record<string, string> = {
      arguments: fs.readFileSync(log, "utf8"),
      "log lines": [lab.lines.join("\n"), readAll(labFolder, (file) => file.endsWith(".log"))].join(
        "\n",
      ),
      events: fs.readFileSync(path.join(labFolder, "engine/events.jsonl"), "utf8"),
      "plain state": readAll(path.join(labFolder, "engine/state"), () => true),
    };
    lab.child.kill("SIGINT");
    expect((await lab.ended).stdout).toContain("k8s-worker4");
    await waitUntilNothingIsLeft(labFolder);

    for (const [place, text] of Object.entries(places)) {
      expect(text.length).toBeGreaterThan(500);
      const visibleSecrets = [...searchTexts, ...secretEnds].filter(
        (searchText) => searchText.trim().length >= 12 && text.includes(searchText),
      );
      expect({ place, visibleSecrets }).toEqual({ place, visibleSecrets: [] });
    }
    for (const program of ["pulumi", "pulumi-resource-kubernetes", "talosctl", "node"])
      expect(places["arguments"]).toMatch(new RegExp(`^${program} `, "m"));
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
