import { execFile } from "node:child_process";
import * as fs from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";
import { clusterOf, readStackFile, stackNameOf } from "../../../stacks/stack-file";
import { planCluster } from "../../../components/recipe";
import { serveCharts } from "../../../lab/charts/repository";
import { makeExistingCluster } from "../../../lab/cluster/existing-cluster";
import { startControlPlane } from "../../../lab/controlplane";
import { LabEngine, type Progress, type RunResult } from "../../../lab/engine";
import { startFactory } from "../../../lab/factory";
import { installLanguageHost, installStandInHost } from "../../../lab/language-host";
import { makeCheckout } from "../../../lab/language-host/checkout";
import { CommandProvider } from "../../../lab/providers/command";
import { serveProvider } from "../../../lab/providers/serve";
import { TalosProvider } from "../../../lab/providers/talos";
import { provideTools } from "../../../lab/tools";

/** Resources and cost of one preview by the CLI. */
export interface PreviewResult extends RunResult {
  /** Resources that the preview would create, as `type name`. */
  creates: string[];
  /** CPU seconds of the CLI and of the child processes that it waited for, including the program's. */
  cpuSeconds: number;
}

/** A project that the CLI previews. */
export interface Project {
  /** Folder of its Pulumi.yaml, from the checkout's root. Default: the root. */
  folder?: string;
  /** Absolute folder, if it lies outside the checkout. */
  absoluteFolder?: string;
  name: string;
  /** Prefix of the keys of the project's credentials. Default: the project's name. */
  namespace?: string;
  stack: string;
  config?: Record<string, unknown>;
  /** Whether the project's kubeconfig has a port on which nothing listens. Default: false. */
  clusterIsDown?: boolean;
}

/**
 * A checkout, a cluster and the providers, shared by the previews of several projects. The policy pack judges each
 * project as well. There is no machine: no address of a machine has a listener.
 */
export interface PreviewTestBed {
  /** Folder of the checkout. */
  readonly checkout: string;
  /** Address of the Image Factory for previews. */
  readonly factory: string;
  /** A stack of this repository, with its file unchanged. */
  previewStack(
    nameOrFile: string,
    options?: Pick<Project, "clusterIsDown">,
  ): Promise<PreviewResult>;
  previewProject(project: Project): Promise<PreviewResult>;
  /** Runs the CLI in the checkout, and returns its standard output. */
  runPulumi(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/** Address without a listener, so that a preview that asks a machine fails. */
const closedAddress = "127.0.0.1:1";

/** Starts the test bed; its `close` stops all processes and servers that were started. */
export async function startPreviewTestBed(): Promise<PreviewTestBed> {
  const tools = await provideTools({
    only: ["pulumi", "pulumi-resource-kubernetes", "talosctl", "controlplane"],
  });
  const dir = await mkdtemp(path.join(tmpdir(), "talos-gpu-previews-"));
  const pathTo = (...parts: string[]): string => path.join(dir, ...parts);
  const [controlPlane, factory, charts, checkout, owner, host, standIn] = await Promise.all([
    startControlPlane({ dir: path.join(dir, "controlplane"), binary: tools.controlplane }),
    startFactory(),
    serveCharts({ dir: pathTo("charts"), controlPlane: tools.controlplane }),
    makeCheckout(pathTo("checkout")),
    makeExistingCluster(pathTo("talos"), tools.talosctl, { talosVersion: "v1.13.0", machines: {} }),
    installLanguageHost(pathTo("language-host"), tools.pulumi),
    installStandInHost(pathTo("stand-in")),
  ]);
  const providers = {
    command: await serveProvider(new CommandProvider({ directory: checkout })),
    talos: await serveProvider(
      new TalosProvider({
        talosctl: tools.talosctl,
        factory: factory.url,
        machineApi: closedAddress,
        tempDir: pathTo("talos"),
      }),
    ),
  };
  const plugins = {
    kubernetes: await charts.redirect(tools["pulumi-resource-kubernetes"]),
    ...Object.fromEntries(Object.entries(providers).map(([name, { port }]) => [name, port])),
  };
  const credentials = {
    talosconfig: owner.talosconfig(closedAddress),
    machineSecrets: fs.readFileSync(owner.secrets, "utf8"),
    kubeconfig: fs.readFileSync(controlPlane.adminKubeconfig, "utf8"),
    omniEndpoint: "https://omni.example",
    omniServiceAccountKey: "omni-service-account-key",
  };
  const environment = {
    ...environmentWithoutCredentials(),
    PATH: [host, path.dirname(tools.talosctl), process.env["PATH"]].join(path.delimiter),
    TALOS_GPU_CHARTS: charts.addressOf(""),
    TALOS_GPU_FACTORY: factory.url,
  };
  fs.writeFileSync(pathTo("pulumi"), measuringScript(tools.pulumi, pathTo("cpu")), { mode: 0o755 });

  /**
   * Serves the chart that a stack's configuration names. Throws if this is not the configuration of a stack: then
   * the test is wrong.
   */
  const offerChartOf = (config: Record<string, unknown>): void => {
    const fields = Object.entries(config).map(([key, value]) => [
      key.replace(/^talos-gpu:/, ""),
      value,
    ]);
    const spec = clusterOf(Object.fromEntries(fields) as Record<string, unknown>);
    const { chart, version, repository } = planCluster(spec).kubernetes.release;
    charts.offer(chart, version, repository);
  };

  const previewProject = async ({
    folder = "",
    absoluteFolder: programFolder = path.join(checkout, folder),
    name,
    namespace = name,
    stack,
    config = {},
    clusterIsDown = false,
  }: Project): Promise<PreviewResult> => {
    if (namespace === "talos-gpu") offerChartOf(config);
    const { kubeconfig } = credentials;
    const unreachable = {
      kubeconfig: kubeconfig.replace(/server: .*/, `server: https://${closedAddress}`),
    };
    const credentialTexts = { ...credentials, ...(clusterIsDown ? unreachable : {}) };
    const neededKeys = [
      "kubeconfig",
      "talosconfig",
      ...(folder === "" ? Object.keys(credentials) : []),
    ];
    const secretKeys = config[`${name}:bootstrap`] === true ? [] : [...new Set(neededKeys)];
    const engine = await LabEngine.open({
      pulumi: pathTo("pulumi"),
      dir: pathTo("engines", `${name}-${stack}`),
      project: name,
      stack,
      program: programFolder,
      config,
      secrets: Object.fromEntries(
        secretKeys.map((key) => [
          `${namespace}:${key}`,
          credentialTexts[key as keyof typeof credentials],
        ]),
      ),
      plugins,
      environment,
    });
    fs.rmSync(pathTo("cpu"), { force: true });
    const creates: string[] = [];
    const onEvent = (progress: Progress): void => {
      if (progress.kind === "resource" && progress.op === "create" && progress.state === "started")
        creates.push(`${progress.type} ${progress.name}`);
    };
    const result = await engine.preview({ onEvent, policyPacks: [path.join(checkout, "policy")] });
    return { ...result, creates, cpuSeconds: readCpuSeconds(pathTo("cpu")) };
  };

  return {
    checkout,
    factory: factory.url,
    previewProject,
    runPulumi: async (...args) => {
      // Pulumi's own host begins with `npm install`, which must not run here: this checkout's node_modules is a
      // link to the repository's.
      const PATH = [standIn, environment.PATH].join(path.delimiter);
      const env = {
        ...environment,
        PATH,
        PULUMI_HOME: pathTo("home"),
        PULUMI_SKIP_UPDATE_CHECK: "true",
      };
      const { stdout } = await promisify(execFile)(tools.pulumi, args, {
        cwd: checkout,
        env,
        maxBuffer: 2 ** 26,
      });
      return stdout;
    },
    previewStack: (nameOrFile, options = {}) => {
      const stack = stackNameOf(nameOrFile);
      const stackFields = readStackFile(nameOrFile);
      fs.rmSync(path.join(checkout, "stacks", `Pulumi.${stack}.yaml`), { force: true }); // written again, with credentials
      const config = Object.fromEntries(
        Object.entries(stackFields).map(([key, value]) => [`talos-gpu:${key}`, value]),
      );
      return previewProject({ name: "talos-gpu", stack, config, ...options });
    },
    close: async () => {
      await Promise.all([
        ...Object.values(providers).map((provider) => provider.close()),
        controlPlane.stop(),
      ]);
      await Promise.all([factory.close(), charts.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** This process' environment without its user's credentials and clusters. */
function environmentWithoutCredentials(): Record<string, string> {
  const userVariables = /^(TALOSCONFIG|TALOS_SECRETS|KUBECONFIG|OMNI_.*|PULUMI_.*)$/;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([key, value]) =>
      value === undefined || userVariables.test(key) ? [] : [[key, value]],
    ),
  );
}

/** Runs the CLI in a shell whose `times` writes the CPU time of all child processes to a file. */
const measuringScript = (pulumi: string, file: string): string => `#!/bin/bash
"${pulumi}" "$@"
status=$?
times >> "${file}"
exit $status
`;

/** Seconds in lines such as `0m3.200s 0m0.640s`: the shell's own times, and those of its children. */
function readCpuSeconds(file: string): number {
  const times = fs.readFileSync(file, "utf8").matchAll(/(\d+)m([\d.]+)s/g);
  return [...times].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}
