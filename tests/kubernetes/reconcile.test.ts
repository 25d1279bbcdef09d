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
const omniCredentials = {
  omniEndpoint: "https://frank.omni.example",
  omniServiceAccountKey: "key",
};

const registerStack = (stack: string, reconcileToken?: string): Promise<Run> =>
  registerCluster(
    clusterArgs(stack, {
      ...omniCredentials,
      ...(reconcileToken === undefined ? {} : { reconcileToken }),
    }),
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
  let [runWithoutToken, firstRun, secondRun] = [] as unknown as [Run, Run, Run];

  beforeAll(async () => {
    runWithoutToken = await registerStack(stack);
    firstRun = await registerStack(stack, "one");
    secondRun = await registerStack(stack, "two");
    for (const { error } of [runWithoutToken, firstRun, secondRun]) expect(error).toBeUndefined();
  });

  test("a new reconcileToken changes exactly the inputs of programs, releases, nodes and configurations, which then run or apply again", () => {
    const before = inputsOf(firstRun);
    const after = inputsOf(secondRun);
    expect(Object.keys(after)).toEqual(Object.keys(before));
    const changedInputs = Object.keys(before).filter((name) => before[name] !== after[name]);
    const expectedResources = firstRun.resources.filter(
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
    expect(changedInputs.sort()).toEqual(
      expectedResources.map(({ type, name }) => `${type} ${name}`).sort(),
    );
  });

  test("with a reconcileToken, every object is looked for by its name and owner mark", () => {
    const lookupPrograms = findResources(firstRun, resourceTypes.program).filter(({ name }) =>
      name.includes("-reconcile-"),
    );
    const requestedObjects = lookupPrograms.flatMap(
      ({ inputs }) => JSON.parse(inputs["stdin"]).objects as any[],
    );
    const objects = firstRun.resources.filter(isObject);
    expect(requestedObjects.map(({ kind }) => kind).sort()).toEqual(
      objects.map(({ inputs }) => inputs["kind"]).sort(),
    );
    for (const { apiVersion, kind, metadata } of requestedObjects) {
      expect(apiVersion).toEqual(expect.any(String));
      expect(metadata.name).toEqual(expect.any(String));
      expect(metadata.annotations).toMatchObject({
        "talos-gpu/owner": expect.any(String),
        "pulumi.com/patchFieldManager": "talos-gpu",
        ...(kind === "Job" ? { "pulumi.com/autonamed": "true" } : {}),
      });
    }
  });

  test("a reconcileToken adds only the resources that look for objects", () => {
    const names = (run: Run): string[] => run.resources.map(({ name }) => name);
    expect(names(firstRun).filter((name) => !name.includes("-reconcile-"))).toEqual(
      names(runWithoutToken),
    );
  });

  test("lost objects are restored before the objects that need them", () => {
    const lookupOfStep = (step: string): RegisteredResource =>
      findResource(firstRun, resourceTypes.program, `-reconcile-${step}`);
    const expectWaitsFor = (later: RegisteredResource, earlier: RegisteredResource): void =>
      expect(dependencyUrns(firstRun, later)).toContain(earlier.urn);
    expectWaitsFor(findResource(firstRun, resourceTypes.release), lookupOfStep("prepared"));
    expectWaitsFor(lookupOfStep("released"), findResource(firstRun, resourceTypes.release));
    expectWaitsFor(
      findResource(firstRun, resourceTypes.program, "-gate"),
      lookupOfStep("released"),
    );
    expectWaitsFor(
      lookupOfStep("workloads"),
      findResource(firstRun, resourceTypes.program, "-gate"),
    );
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
  const restoredObjects = findResources(run, resourceTypes.program)
    .filter(({ name }) => name.includes("-reconcile-"))
    .flatMap(({ inputs }) => putBackTask.parse(JSON.parse(inputs["stdin"])).objects);
  expect(restoredObjects.map(({ kind }) => kind)).toContain("ServiceMonitor");
  expect(restoredObjects.map(({ kind }) => kind)).not.toContain("CustomResourceDefinition");
});
