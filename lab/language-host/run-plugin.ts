import { type RunPluginRequest, RunPluginResponse } from "@pulumi/pulumi/proto/language_pb";
import type { Children } from "./children";
import { locateModule, nodeOptions, optionVariables } from "./options";

/**
 * `RunPlugin`: a package written in TypeScript, such as `components/`, served as a plugin; or a policy pack, such as `policy/`.
 * Working directory, environment and arguments are the real host's (main.go, RunPlugin); its standard output is how the engine
 * learns its port. The real host stands between a policy pack and the engine and tells the pack the stack's configuration by
 * environment; here the engine asks the pack itself, and a pack that reads `pulumi.Config` would read nothing.
 *
 * @throws Error when it fails; the stream then ends with it.
 */
export async function runPlugin(
  request: RunPluginRequest,
  children: Children,
  write: (response: RunPluginResponse) => void,
  signal: AbortSignal,
): Promise<void> {
  const info = request.getInfo();
  const folder = info?.getProgramDirectory() ?? request.getProgram();
  const options = nodeOptions(info);
  const isPolicyPack = request.getKind() === "analyzer";
  const program = locateModule(`@pulumi/pulumi/cmd/${isPolicyPack ? "run-policy-pack" : "run-plugin"}`, folder);
  const given = request
    .getEnvList()
    .map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]);
  const status = await children.run(
    {
      args: [
        program,
        ...options.nodeargs,
        ...(isPolicyPack ? [...request.getArgsList(), folder] : [folder, ...request.getArgsList()]),
      ],
      cwd: isPolicyPack ? folder : request.getPwd() || folder,
      env: { ...(Object.fromEntries(given) as Record<string, string>), ...optionVariables(options) },
      onStdout: (chunk) => write(chunkOf((response) => response.setStdout(chunk))),
      onStderr: (chunk) => write(chunkOf((response) => response.setStderr(chunk))),
    },
    signal,
  );
  if (status !== 0 && !signal.aborted) throw new Error(`Program exited with non-zero exit code: ${status}`);
}

function chunkOf(fill: (response: RunPluginResponse) => void): RunPluginResponse {
  const response = new RunPluginResponse();
  fill(response);
  return response;
}
