import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { ClusterSpec } from "../../components/recipe";
import { bringUp, type Lab } from "../../lab/cluster/bring-up";
import { LabEngine, type RunResult } from "../../lab/engine";
import { installLanguageHost } from "../../lab/language-host";
import { makeCheckout } from "../../lab/language-host/checkout";
import { parseOptions } from "../../lab/options";
import { commandEnvironment, servePlugins } from "../../lab/run/updates";
import { Session } from "../../lab/session/session";
import { provideLanguages } from "../../lab/tools";
import { repository } from "../../stacks/stack-file";

/** What the YAML example says of its cluster. */
interface Template {
  resources: { cluster: { properties: Record<string, unknown> } };
}

/** What came of the example, update by update. */
export interface YamlRun {
  first: RunResult;
  second: RunResult;
  destroyed: RunResult;
  nodes: string[];
}

const example = "examples/yaml";

/** Brings examples/yaml up in a lab whose cluster is what the example says: the real CLI, Pulumi's YAML host, the package as a plugin. */
async function run(session: Session): Promise<YamlRun> {
  const languages = await provideLanguages();
  const template = parse(fs.readFileSync(path.join(repository, example, "Pulumi.yaml"), "utf8")) as Template;
  const { talosconfig: _t, kubeconfig: _k, ...said } = template.resources.cluster.properties;
  const spec = said as unknown as ClusterSpec;
  const options = parseOptions(["--stack", "yaml"]);
  const lab = { options, session, config: {}, spec, talosReleases: [spec.talosVersion], without: [] } as unknown as Lab;
  for (const phase of bringUp) await phase.run(lab, () => {});
  await installLanguageHost(session.dir("language-host"));
  const folder = path.join(await makeCheckout(session.dir("checkout")), example);
  const environment = commandEnvironment(lab);
  const engine = await LabEngine.open({
    pulumi: lab.tools.pulumi,
    dir: session.dir("engine"),
    project: "gpu-yaml",
    stack: "dev",
    program: folder,
    secrets: {
      "gpu-yaml:talosconfig": fs.readFileSync(session.dir("talosconfig"), "utf8"),
      "gpu-yaml:kubeconfig": fs.readFileSync(lab.controlPlane.adminKubeconfig, "utf8"),
    },
    plugins: await servePlugins(lab, folder),
    environment: {
      ...environment,
      PATH: [session.dir("language-host"), languages, environment["PATH"]].join(path.delimiter),
    },
  });
  const { signal } = session;
  const onEvent = (progress: object): void => console.error(JSON.stringify(progress).slice(0, 300));
  const first = await engine.up({ signal, onEvent });
  const nodes = Object.keys(await lab.kubernetes.nodes());
  const second = await engine.up({ signal });
  return { first, second, destroyed: await engine.destroy({ signal }), nodes };
}

async function main(): Promise<void> {
  const session = new Session();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => session.abort(`stopped by ${signal}`));
  try {
    process.stdout.write(JSON.stringify(await run(session)));
  } finally {
    await session.close();
  }
}

main().then(
  () => setImmediate(() => process.exit()),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
