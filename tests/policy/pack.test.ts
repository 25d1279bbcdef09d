import { spawn, type ChildProcess } from "node:child_process";
import * as path from "node:path";
import * as grpc from "@grpc/grpc-js";
import * as proto from "@pulumi/pulumi/proto/analyzer_pb";
import * as services from "@pulumi/pulumi/proto/analyzer_grpc_pb";
import { repository, stackNames } from "../../stacks/stack-file";
import { policies } from "../../policy/policies";
import { types } from "../support/gpu-cluster";
import { find, findAll } from "../support/graph";
import type { Registered, Run } from "../support/recorder";
import { run } from "../support/stack-run";
import { asResources } from "./resources";

// @pulumi/policy serves the pack over gRPC, as it does when the CLI asks with --policy-pack. It is the judge here of how the
// pack is made, of which resources it sees, and of what becomes of its findings.
// Messages must be of the very library that the SDK's own are of.
const messagesOf = (name: string): any =>
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- found from the SDK's place
  require(
    require.resolve(`google-protobuf/google/protobuf/${name}_pb`, { paths: [require.resolve("@pulumi/pulumi")] }),
  );

let pack: ChildProcess;
let client: any;

beforeAll(async () => {
  const folder = path.join(repository, "policy");
  pack = spawn(process.execPath, ["--require", require.resolve("tsx/cjs"), "index.ts"], { cwd: folder });
  const port = await new Promise<string>((resolve, reject) => {
    let said = "";
    pack.stdout!.on(
      "data",
      (data: Buffer) => /^\d+$/m.test((said += data.toString())) && resolve(/^\d+$/m.exec(said)![0]),
    );
    pack.stderr!.on("data", (data: Buffer) => (said += data.toString()));
    pack.on("exit", () => reject(new Error(`the pack ended: ${said}`)));
  });
  const { AnalyzerClient } = services as any;
  client = new AnalyzerClient(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
}, 120_000);

afterAll(() => {
  client?.close();
  pack.kill();
});

const ask = (method: string, request: unknown): Promise<any> =>
  new Promise((resolve, reject) =>
    client[method](request, (error: Error | null, answer: unknown) => (error ? reject(error) : resolve(answer))),
  );

/** A run as the engine hands it to a pack. */
function requestOf(run: Run): unknown {
  const messages = proto as any;
  const request = new messages.AnalyzeStackRequest();
  const plain = asResources(run);
  request.setResourcesList(
    run.resources.map((resource, index) => {
      const message = new messages.AnalyzerResource();
      message.setUrn(resource.urn);
      message.setName(resource.name);
      message.setType(resource.type);
      message.setProperties(messagesOf("struct").Struct.fromJavaScript(plain[index]!.props));
      message.setOptions(new messages.AnalyzerResourceOptions());
      message.setParent(resource.parent);
      message.setDependenciesList(resource.dependencies);
      return message;
    }),
  );
  return request;
}

/** What the pack finds in a run: the policy, the resource, and what comes of it. */
const judged = async (run: Run): Promise<[string, string, number][]> =>
  (await ask("analyzeStack", requestOf(run)))
    .getDiagnosticsList()
    .map((found: any) => [found.getPolicyname(), found.getUrn(), found.getEnforcementlevel()]);

test("serves every policy, as mandatory", async () => {
  const info = await ask("getAnalyzerInfo", new (messagesOf("empty").Empty)());
  expect(info.getPoliciesList().map((policy: any) => policy.getName())).toEqual(policies.map(({ name }) => name));
});

test.each(stackNames())(
  "judges the first preview of %s, of which much is unknown",
  async (stack) => {
    const recorded = await run(stack, {}, { preview: true });
    expect(await judged(recorded)).toEqual([]);
    const namespace = set(findAll(recorded, namespaces)[0]!, "metadata.labels", {});
    const wrong = [["pod-security-labels", namespace.urn]];
    const [apply] = findAll(recorded, types.configuration);
    if (apply) wrong.push(["one-containerd-part", set(apply, "configPatches", [part, part]).urn]);
    const found = (await judged(recorded)).map(([name, urn]) => [name, urn]);
    expect(found).toEqual(expect.arrayContaining(wrong));
  },
  60_000,
);

const part = JSON.stringify({ machine: { files: [{ path: "/etc/cri/conf.d/20-customization.part" }] } });
const unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"; // as the engine writes a text that it does not know yet

/** Per policy: what breaks it in one resource, and what leaves another one unknown. Neither may hide the other. */
const ways: Record<string, { breaks: (run: Run) => Registered; hides: (run: Run) => Registered }> = {
  "one-containerd-part": {
    breaks: (ran) => {
      const apply = find(ran, types.configuration);
      apply.inputs.configPatches = [part, part];
      return apply;
    },
    hides: (ran) => set(find(ran, types.program, "-upgrade"), "stdin"),
  },
  "control-planes-one-by-one": {
    breaks: (ran) => {
      const one = find(ran, types.program, "-upgrade");
      one.inputs.stdin = JSON.stringify({ ...JSON.parse(one.inputs.stdin), role: "controlplane" });
      return beside(ran, one, "second");
    },
    // A third one, of which it is not known yet whether it is a control plane's.
    hides: (ran) => set(beside(ran, find(ran, types.program, "-upgrade"), "third"), "stdin"),
  },
  "gpus-behind-the-gate": {
    breaks: (ran) => Object.assign(find(ran, deployment, "ollama-deployment"), { dependencies: [], parent: "" }),
    hides: (ran) =>
      set(find(ran, deployment, "comfyui-deployment"), "spec.template.spec.containers.0.resources.limits"),
  },
  "privileged-pods-where-declared": {
    breaks: (ran) => set(find(ran, deployment, "ollama-deployment"), "spec.template.spec.hostNetwork", true),
    hides: (ran) => set(find(ran, deployment, "comfyui-deployment"), "spec.template.spec.containers.0.securityContext"),
  },
  "gpu-pods-ask-for-gpus": {
    breaks: (ran) => set(find(ran, deployment, "ollama-deployment"), "spec.template.spec.containers.0.resources", {}),
    hides: (ran) =>
      set(find(ran, deployment, "comfyui-deployment"), "spec.template.spec.containers.0.resources.limits"),
  },
  "pod-security-labels": {
    breaks: (ran) => set(find(ran, namespaces, "ollama-namespace"), "metadata.labels", {}),
    hides: (ran) => set(find(ran, namespaces, "comfyui-namespace"), "metadata.labels"),
  },
  "images-by-release": {
    breaks: (ran) =>
      set(find(ran, deployment, "ollama-deployment"), "spec.template.spec.containers.0.image", "ollama:latest"),
    hides: (ran) => set(find(ran, deployment, "comfyui-deployment"), "spec.template.spec.containers.0.image"),
  },
};
const deployment = "kubernetes:apps/v1:Deployment";
const namespaces = "kubernetes:core/v1:Namespace";

/** A further resource like one of the run. */
function beside(run: Run, like: Registered, name: string): Registered {
  const made = { ...structuredClone(like), urn: `${like.urn}-${name}`, name: `${like.name}-${name}` };
  run.resources.push(made);
  return made;
}

/** Sets an input by its path; without a value it becomes unknown. */
function set(resource: Registered, path: string, value: unknown = unknown): Registered {
  const steps = path.split(".");
  const last = steps.pop()!;
  const holder = steps.reduce((at, step) => at[step], resource.inputs);
  expect([path, last in holder || value !== unknown]).toEqual([path, true]); // what is not there hides nothing
  holder[last] = value;
  return resource;
}

test("every policy is tried beside something unknown", () =>
  expect(Object.keys(ways)).toEqual(policies.map(({ name }) => name)));

test.each(Object.entries(ways))("%s stops a preview, whatever of another resource is unknown", async (name, how) => {
  const recorded = await run("rtx5070ti");
  how.hides(recorded);
  expect(await judged(recorded)).toEqual([]);
  const wrong = how.breaks(recorded);
  expect(await judged(recorded)).toEqual([[name, wrong.urn, (proto as any).EnforcementLevel.MANDATORY]]);
});
