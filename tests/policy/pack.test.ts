import { spawn, type ChildProcess } from "node:child_process";
import * as path from "node:path";
import * as grpc from "@grpc/grpc-js";
import * as proto from "@pulumi/pulumi/proto/analyzer_pb";
import * as services from "@pulumi/pulumi/proto/analyzer_grpc_pb";
import { repository, stackNames } from "../../stacks/stack-file";
import { policies } from "../../policy/policies";
import type { Run } from "../support/recorder";
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

test("serves every policy, as mandatory", async () => {
  const info = await ask("getAnalyzerInfo", new (messagesOf("empty").Empty)());
  expect(info.getPoliciesList().map((policy: any) => policy.getName())).toEqual(policies.map(({ name }) => name));
});

test("lets a stack of this repository pass, and stops one whose namespace says no level", async () => {
  const recorded = await run("rtx5070ti");
  const passed = await ask("analyzeStack", requestOf(recorded));
  expect(passed.getDiagnosticsList().map((found: any) => found.getMessage())).toEqual([]);

  const namespace = recorded.resources.find(({ name }) => name === "rtx5070ti-ollama-namespace")!;
  delete namespace.inputs.metadata.labels;
  const stopped = await ask("analyzeStack", requestOf(recorded));
  const [found, ...others] = stopped.getDiagnosticsList();
  expect(others).toEqual([]);
  expect([found.getPolicyname(), found.getUrn()]).toEqual(["pod-security-labels", namespace.urn]);
  expect(found.getEnforcementlevel()).toBe((proto as any).EnforcementLevel.MANDATORY);
}, 60_000);

test.each(stackNames())(
  "judges the first preview of %s, of which much is unknown",
  async (stack) => {
    const recorded = await run(stack, {}, { preview: true });
    const messages = (answer: any): string[] => answer.getDiagnosticsList().map((found: any) => found.getMessage());
    expect(messages(await ask("analyzeStack", requestOf(recorded)))).toEqual([]);

    const namespace = recorded.resources.find(({ type }) => type === "kubernetes:core/v1:Namespace")!;
    delete namespace.inputs.metadata.labels;
    const part = JSON.stringify({ machine: { files: [{ path: "/etc/cri/conf.d/20-customization.part" }] } });
    const apply = recorded.resources.find(({ type }) => type.endsWith(":ConfigurationApply"));
    if (apply) apply.inputs.configPatches = [part, part];
    const found = messages(await ask("analyzeStack", requestOf(recorded)));
    expect(found).toContainEqual(expect.stringContaining("it has no label pod-security"));
    if (apply) expect(found).toContainEqual(expect.stringContaining("20-customization.part 2 times"));
  },
  60_000,
);
