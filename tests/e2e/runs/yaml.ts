import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { ClusterSpec } from "../../../components/recipe";
import { LabEngine, type RunResult } from "../../../lab/engine";
import { installLanguageHost } from "../../../lab/language-host";
import { makeCheckout } from "../../../lab/language-host/checkout";
import { parseOptions } from "../../../lab/options";
import { commandEnvironment, servePlugins } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { provideLanguages } from "../../../lab/tools";
import { repository } from "../../../stacks/stack-file";
import { runAsProgram, openLab } from "./run-as-program";

/** The YAML example's description of its cluster. */
interface YamlProgram {
  resources: { cluster: { properties: Record<string, unknown> } };
}

/** Results of the example, update by update. */
export interface YamlRun {
  firstUpdate: RunResult;
  outputs: Awaited<ReturnType<LabEngine["outputs"]>>;
  secondUpdate: RunResult;
  destroy: RunResult;
  nodes: string[];
}

const example = "examples/yaml";

/**
 * Updates examples/yaml in a lab with the example's cluster, with the real CLI, Pulumi's YAML host and the package as a
 * plugin.
 */
async function run(session: Session): Promise<YamlRun> {
  const languages = await provideLanguages();
  const yamlProgram = parse(
    fs.readFileSync(path.join(repository, example, "Pulumi.yaml"), "utf8"),
  ) as YamlProgram;
  const {
    talosconfig: _talosconfig,
    kubeconfig: _kubeconfig,
    ...clusterProperties
  } = yamlProgram.resources.cluster.properties;
  const spec = clusterProperties as unknown as ClusterSpec;
  const lab = await openLab(session, parseOptions(["--stack", "yaml"]), spec);
  const hosts = await installLanguageHost(session.dir("language-host"), lab.tools.pulumi);
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
      PATH: [hosts, languages, environment["PATH"]].join(path.delimiter),
    },
  });
  const { signal } = session;
  const onEvent = (progress: object): void => console.error(JSON.stringify(progress).slice(0, 300));
  const firstUpdate = await engine.up({ signal, onEvent });
  const outputs = await engine.outputs();
  const nodes = Object.keys(await lab.kubernetes.nodes());
  const secondUpdate = await engine.up({ signal });
  const destroy = await engine.destroy({ signal });
  return { firstUpdate, outputs, secondUpdate, destroy, nodes };
}

runAsProgram(run);
