import { parse } from "yaml";
import { CallError, type CallProblem } from "../../../../components/clients/failure";
import { OmniServer } from "../../../../components/clients/omni/server";
import type { SecretFiles } from "../../../../components/clients/secret-files";
import type { Talosctl } from "../../../../components/clients/talos/talosctl";
import { applyToOmni, releaseFromOmni } from "../../../../components/machine/program/omni/apply";
import type { OmniTask } from "../../../../components/machine/program/task";
import { customizationPath, omniResources } from "../../../../components/recipe";
import { FakeClock } from "../fakes";
import { fixture, only } from "../../../support/table";
import { failure } from "../setup";
import { FakeOmni } from "./fake-omni";

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const part = `machine:\n  files:\n    - {path: ${customizationPath}, op: create, content: "x"}\n`;

/** A resource of somebody else's: a patch, or a list of extensions. */
type Theirs = { id: string; labels: Record<string, string> } & ({ text: string } | { extensions: string[] });
/** A step of a row; the table says what each part of it is. */
interface Step {
  apply?: string[];
  without?: "extensions";
  drop?: string[];
  release?: boolean;
  has?: Theirs[];
  omni?: Record<string, unknown>;
  silent?: { seconds?: number; problem: CallProblem; message: string };
  calls?: string[];
  gives?: object;
  held?: string[];
  removed?: number;
  error?: string[];
  says?: string;
}
const { rows } = parse(fixture("omni.yaml").replaceAll("$uuid", uuid).replaceAll("$part", JSON.stringify(part))) as {
  rows: { name: string; has?: Theirs[]; omni?: Record<string, unknown>; steps: Step[] }[];
};

const parts: (keyof Step)[] = [
  ...(["apply", "without", "drop", "release", "has", "omni", "silent"] as const),
  ...(["calls", "gives", "held", "removed", "error", "says"] as const),
];

function arrange(omni: FakeOmni, { has = [], omni: fields = {} }: Pick<Step, "has" | "omni">): void {
  for (const [key, value] of Object.entries(fields)) Object.assign(omni, { [key]: value ?? undefined });
  for (const { id, labels, ...one } of has)
    if ("text" in one) omni.put(id, labels, one.text);
    else omni.putExtensions(id, labels, one.extensions);
}

test.each(rows.map((row) => [row.name, row] as const))("%s", async (_, { steps, ...first }) => {
  const [omni, clock, lines]: [FakeOmni, FakeClock, string[]] = [new FakeOmni(), new FakeClock(), []];
  const report = (line: string): void => void lines.push(line);
  const { list } = omni;
  arrange(omni, first);
  for (const step of steps) {
    only(step, parts);
    arrange(omni, step);
    omni.calls.length = 0;
    if (step.silent) {
      const { seconds = Infinity, problem, message } = step.silent;
      omni.list = () => Promise.reject(new CallError(problem, message));
      if (seconds < Infinity) clock.after(seconds, () => (omni.list = list));
    }
    const extensions = step.without ? [] : ["siderolabs/x"];
    const resources = omniResources({ cluster: "frank", uuid, patches: step.apply ?? [part], extensions });
    const task: OmniTask = {
      ...{ machine: "gpu-1", uuid, cluster: "frank", resources },
      ...(step.drop ? { drop: step.drop } : {}),
    };
    const asked = step.release ? releaseFromOmni(task, omni, report, clock) : applyToOmni(task, omni, report);
    if (step.error) {
      const message = await failure(asked);
      for (const said of step.error) expect(message).toContain(said);
      expect(omni.calls).toEqual([]);
      continue;
    }
    const answer = await asked;
    if (step.gives) expect(answer).toMatchObject(step.gives);
    if (step.calls) expect(omni.calls).toEqual(step.calls);
    if (step.removed !== undefined) expect(answer.removed).toHaveLength(step.removed);
    const patches = [...omni.held.values()].filter(({ spec }) => "data" in spec).map(({ metadata }) => metadata.id);
    if (step.held) expect(patches.sort()).toEqual(step.held);
    if (step.says) expect(lines.join()).toContain(step.says);
  }
});

test.each<[string, string, unknown]>([
  // As siderolabs/omni prints both: client/pkg/template/testdata/cluster1-resources.yaml, the annotation without a value.
  ["a template's", "    annotations:\n        omni.sidero.dev/managed-by-cluster-templates:\n", { templated: true }],
  ["one with other annotations", "    annotations:\n        name: home\n", { templated: false }],
  ["one of Omni's page", "", { templated: false }],
])("omnictl's word on a cluster: %s", async (_, annotations, expected) => {
  const type = "Clusters.omni.sidero.dev";
  const printed = `metadata:\n    namespace: default\n    type: ${type}\n    id: frank\n    version: 1\n${annotations}spec:\n    talosversion: 1.12.6\n`;
  const omnictl = { run: async () => printed } as unknown as Talosctl;
  expect(await new OmniServer(omnictl, {} as SecretFiles).cluster("frank")).toEqual(expected);
});
