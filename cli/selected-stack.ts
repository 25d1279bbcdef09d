import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { projectAbove } from "./stack-folder";

/** A stack that Pulumi uses by default. */
export interface SelectedStack {
  /** Its name, without organization and project. */
  name: string;
  /** Why Pulumi uses this stack, as a clause for messages. */
  reason: string;
}

/**
 * The stack that Pulumi uses by default: that of PULUMI_STACK, else the selected stack of this project (pulumi/pulumi
 * v3.259.0, pkg/backend/state/stacks.go, getCurrentStackName).
 */
export function selectedStack(environment: NodeJS.ProcessEnv): SelectedStack | undefined {
  const named = environment["PULUMI_STACK"];
  if (named) return { name: withoutOwner(named), reason: "PULUMI_STACK names it" };
  const selected = selectedInProject(environment);
  return selected === undefined
    ? undefined
    : { name: withoutOwner(selected), reason: "Pulumi has it selected" };
}

/**
 * The last part of a stack's name, e.g. `dev` of `organization/project/dev`. The stack's file is named after this part.
 */
export const withoutOwner = (stack: string): string => stack.slice(stack.lastIndexOf("/") + 1);

/**
 * The selection of `pulumi stack select`, which Pulumi keeps in a file per project (pkg/workspace/workspace.go,
 * settingsPath).
 */
function selectedInProject(environment: NodeJS.ProcessEnv): string | undefined {
  const home = pulumiHome(environment);
  const project = projectAbove(workingFolder(environment));
  if (home === undefined || project?.name === undefined) return undefined;
  const hash = createHash("sha1").update(project.file).digest("hex");
  const settings = readJson(
    path.join(home, "workspaces", `${project.name}-${hash}-workspace.json`),
  );
  const stacks = Object.entries((settings["stacks"] ?? {}) as Record<string, unknown>);
  // Since v3.259 the file has a stack per backend; older releases wrote `stack` (pkg/workspace/settings.go).
  const backend =
    stacks.length > 1 ? backendOf(environment, project.backend, home) : stacks[0]?.[0];
  const selected = stacks.find(([url]) => url === backend)?.[1] ?? settings["stack"];
  return typeof selected === "string" && selected !== "" ? selected : undefined;
}

/** The backend of Pulumi: from the environment, else from the project, else the last login. */
function backendOf(
  environment: NodeJS.ProcessEnv,
  ofProject: string | undefined,
  home: string,
): unknown {
  return (
    environment["PULUMI_BACKEND_URL"] ||
    ofProject ||
    readJson(path.join(home, "credentials.json"))["current"]
  );
}

function pulumiHome({ PULUMI_HOME, HOME, USERPROFILE }: NodeJS.ProcessEnv): string | undefined {
  const home = HOME || USERPROFILE;
  return PULUMI_HOME || (home ? path.join(home, ".pulumi") : undefined);
}

/**
 * The working folder as Pulumi sees it. The name of Pulumi's settings file contains a hash of the project's path, so
 * this function must return Pulumi's path. Go's os.Getwd returns the shell's PWD, in which symbolic links are not
 * resolved.
 */
function workingFolder({ PWD }: NodeJS.ProcessEnv): string {
  const currentFolder = process.cwd();
  try {
    return PWD && fs.realpathSync(PWD) === fs.realpathSync(currentFolder) ? PWD : currentFolder;
  } catch {
    return currentFolder;
  }
}

function readJson(file: string): Record<string, unknown> {
  try {
    const read = JSON.parse(fs.readFileSync(file, "utf8")) as unknown;
    return typeof read === "object" && read !== null ? (read as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
