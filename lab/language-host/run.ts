import { type RunRequest, RunResponse } from "@pulumi/pulumi/proto/language_pb";
import type { Children } from "./children";
import { locateModule, nodeOptions, optionVariables } from "./options";

/** `cmd/run` ends so when it has told the user already what is wrong (cmd/run/index.ts). */
const alreadyTold = 32;

/**
 * `Run`: the program in a process of its own, with the working directory, environment and arguments of the real host
 * (pulumi/pulumi, sdk/nodejs/cmd/pulumi-language-nodejs/main.go, execRuntime). One thing is left out: the real one stands
 * between program and engine, passes every call on as it is, and adds pipes (`--sync`) by which SDKs of years ago invoked.
 */
export async function run(request: RunRequest, engine: string, children: Children): Promise<RunResponse> {
  const info = request.getInfo();
  const folder = info?.getProgramDirectory() ?? request.getPwd();
  const options = nodeOptions(info);
  let status: number;
  try {
    const program = locateModule("@pulumi/pulumi/cmd/run", folder);
    status = await children.run({
      args: [...options.nodeargs, program, ...programArguments(request, folder, engine)],
      cwd: process.cwd(),
      env: { ...process.env, ...configuration(request), ...optionVariables(options) },
      onStdout: (chunk) => process.stdout.write(chunk),
      onStderr: (chunk) => process.stderr.write(chunk),
    });
  } catch (error) {
    return answer((error as Error).message);
  }
  if (status === 0) return answer("");
  if (status === alreadyTold) return answer("", true);
  return answer(`Program exited with non-zero exit code: ${status}`);
}

function programArguments(request: RunRequest, folder: string, engine: string): string[] {
  const named: [string, string | undefined][] = [
    ["monitor", request.getMonitorAddress()],
    ["engine", engine],
    ["organization", request.getOrganization()],
    ["project", request.getProject()],
    ["root-directory", request.getInfo()?.getRootDirectory()],
    ["stack", request.getStack()],
    ["pwd", folder],
  ];
  return [
    ...named.flatMap(([name, value]) => (value ? [`--${name}`, value] : [])),
    ...(request.getDryrun() ? ["--dry-run"] : []),
    ...["--parallel", String(request.getParallel())],
    request.getInfo()?.getEntryPoint() ?? ".",
    ...request.getArgsList(),
  ];
}

/** The stack's configuration, keys as SDKs of old had them: `project:config:key` (main.go, constructConfig). */
function configuration(request: RunRequest): Record<string, string> {
  const entries = request
    .getConfigMap()
    .toArray()
    .map(([key, value]) => {
      const colon = key.indexOf(":");
      return [`${key.slice(0, colon)}:config:${key.slice(colon + 1)}`, value];
    });
  return {
    PULUMI_CONFIG: JSON.stringify(Object.fromEntries(entries)),
    PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
  };
}

function answer(error: string, bail = false): RunResponse {
  const response = new RunResponse();
  response.setError(error);
  response.setBail(bail);
  return response;
}
