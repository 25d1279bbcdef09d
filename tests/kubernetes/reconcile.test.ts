import { putBackTask } from "../../components/program/task";
import { clusterArgs, registerCluster, resourceTypes } from "../support/gpu-cluster";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import type { RegisteredResource, Run, RunOptions } from "../support/recorder";
import { machineOutputs } from "../support/talos";

/** The provider gives a Job its name. */
const outputs: NonNullable<RunOptions["outputs"]> = (resource) =>
  resource.type === resourceTypes.job
    ? { metadata: { ...resource.inputs["metadata"], name: `${resource.name}-1a2b3c4d` } }
    : (machineOutputs as NonNullable<RunOptions["outputs"]>)(resource);

/** Invented credentials for Omni. */
const omni = { omniEndpoint: "https://frank.omni.example", omniServiceAccountKey: "key" };

const built = (stack: string, reconcileToken?: string): Promise<Run> =>
  registerCluster(
    clusterArgs(stack, { ...omni, ...(reconcileToken === undefined ? {} : { reconcileToken }) }),
    { outputs },
  );

const inputsOf = (run: Run): Record<string, string> =>
  Object.fromEntries(
    run.resources.map(({ name, type, inputs }) => [`${type} ${name}`, JSON.stringify(inputs)]),
  );

/** Whether Pulumi creates the whole object in the cluster. */
const isObject = ({ type }: RegisteredResource): boolean =>
  /^kubernetes:/.test(type) && !/helm|Patch$/.test(type);

// An owned machine with the operator, an adopted one with taints and the device plugin, and one in Omni.
describe.each(["rtx5070ti", "velaryon", "frank"])("%s", (stack) => {
  let [plain, one, two] = [] as unknown as [Run, Run, Run];

  beforeAll(async () => {
    plain = await built(stack);
    one = await built(stack, "one");
    two = await built(stack, "two");
    for (const { error } of [plain, one, two]) expect(error).toBeUndefined();
  });

  test("a new token changes exactly the inputs of programs, releases, nodes and configurations, which then run or apply again", () => {
    const [before, after] = [inputsOf(one), inputsOf(two)];
    expect(Object.keys(after)).toEqual(Object.keys(before));
    const changed = Object.keys(before).filter((name) => before[name] !== after[name]);
    const wanted = one.resources.filter(
      ({ type, name }) =>
        [
          resourceTypes.configuration,
          resourceTypes.node,
          resourceTypes.release,
          resourceTypes.machine,
          resourceTypes.cluster,
        ].includes(type) ||
        (type === resourceTypes.program && !/-exposure$/.test(name)),
    );
    expect(changed.sort()).toEqual(wanted.map(({ type, name }) => `${type} ${name}`).sort());
  });

  test("with a token, every object is looked for by its name and owner mark", () => {
    const looks = findResources(one, resourceTypes.program).filter(({ name }) =>
      name.includes("-reconcile-"),
    );
    const looked = looks.flatMap(({ inputs }) => JSON.parse(inputs["stdin"]).objects as any[]);
    const objects = one.resources.filter(isObject);
    expect(looked.map(({ kind }) => kind).sort()).toEqual(
      objects.map(({ inputs }) => inputs["kind"]).sort(),
    );
    for (const { apiVersion, kind, metadata } of looked) {
      expect([typeof apiVersion, typeof metadata.name]).toEqual(["string", "string"]);
      expect(metadata.annotations).toMatchObject({
        "talos-gpu/owner": expect.any(String),
        "pulumi.com/patchFieldManager": "talos-gpu",
        ...(kind === "Job" ? { "pulumi.com/autonamed": "true" } : {}),
      });
    }
  });

  test("a token adds only the resources that look for objects", () => {
    const names = (run: Run): string[] => run.resources.map(({ name }) => name);
    expect(names(one).filter((name) => !name.includes("-reconcile-"))).toEqual(names(plain));
  });

  test("lost objects are restored before the objects that need them", () => {
    const look = (step: string): RegisteredResource =>
      findResource(one, resourceTypes.program, `-reconcile-${step}`);
    const waits = (later: RegisteredResource, earlier: RegisteredResource): void =>
      expect(dependencyUrns(one, later)).toContain(earlier.urn);
    waits(findResource(one, resourceTypes.release), look("prepared"));
    waits(look("released"), findResource(one, resourceTypes.release));
    waits(findResource(one, resourceTypes.program, "-gate"), look("released"));
    waits(look("workloads"), findResource(one, resourceTypes.program, "-gate"));
  });
});

test("an external object that the stack only reads is not restored", async () => {
  const run = await registerCluster(
    clusterArgs("velaryon", { reconcileToken: "one", monitoring: { serviceMonitor: true } }),
    {
      outputs,
    },
  );
  expect(run.reads.map(({ id }) => id)).toEqual(["servicemonitors.monitoring.coreos.com"]);
  const looked = findResources(run, resourceTypes.program)
    .filter(({ name }) => name.includes("-reconcile-"))
    .flatMap(({ inputs }) => putBackTask.parse(JSON.parse(inputs["stdin"])).objects);
  expect(looked.map(({ kind }) => kind)).toContain("ServiceMonitor");
  expect(looked.map(({ kind }) => kind)).not.toContain("CustomResourceDefinition");
});
