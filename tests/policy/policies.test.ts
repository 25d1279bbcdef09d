import { knownPart } from "../../policy/known";
import { policies } from "../../policy/policies";
import type { Resource } from "../../policy/policies/policy";
import { run } from "../support/stack-run";
import { stacks } from "../support/stacks";
import { asResources } from "./resources";

// What @pulumi/policy hands to a policy in a preview. It gives no types for it.
const { unknownCheckingProxy, unknownStringValue } = jest.requireActual<{
  unknownCheckingProxy: <T>(props: T) => T;
  unknownStringValue: string;
}>("@pulumi/policy/proxy");
const allUnknown = (props: object): Record<string, any> =>
  Object.fromEntries(Object.keys(props).map((key) => [key, unknownStringValue]));

const settings = { privilegedNamespaces: ["kube-system"] };

function resource(
  type: string,
  name: string,
  props: object,
  dependencies: Resource[] = [],
): Resource {
  return { urn: `urn:pulumi:test::test::${type}::${name}`, name, type, props, dependencies };
}
const program = (
  verb: string,
  name: string,
  task: object,
  dependencies: Resource[] = [],
): Resource =>
  resource(
    "command:local:Command",
    name,
    {
      create: `node -e "require('talos-gpu/bin/program.js')" -- ${verb}`,
      stdin: JSON.stringify(task),
    },
    dependencies,
  );
const pod = (container: object, more: object = {}, dependencies: Resource[] = []): Resource =>
  resource(
    "kubernetes:core/v1:Pod",
    "pod",
    {
      metadata: { name: "pod", namespace: "ai" },
      spec: { containers: [{ image: "cuda:12.5.0", ...container }], ...more },
    },
    dependencies,
  );
const namespace = (labels?: object): Resource =>
  resource("kubernetes:core/v1:Namespace", "ai", {
    metadata: { name: "ai", ...(labels ? { labels } : {}) },
  });

const part =
  "machine: { files: [{ path: /etc/cri/conf.d/20-customization.part, op: create, content: '' }] }";
const enforce = (level: string): object => ({ "pod-security.kubernetes.io/enforce": level });
const one = program("upgrade", "cp-1", { machine: "cp-1", role: "controlplane" });
const gate = program("gate", "gate", { tests: [{ machine: "gpu-1", job: "test-gpu-1" }] });
const gpu = { resources: { limits: { "nvidia.com/gpu": "1" } } };
const upgrade = (machine: string): Resource =>
  program("upgrade", machine, { machine, role: "worker", modules: ["nvidia"] });

/** Per policy: stacks that keep to it, and stacks that break it. */
const cases: Record<
  string,
  { right: Record<string, Resource[]>; wrong: Record<string, Resource[]> }
> = {
  "one-containerd-part": {
    right: {
      "a part on each of two machines": ["a", "b"].map((machine) =>
        program("adopt", machine, { machine, patches: [part] }),
      ),
    },
    wrong: {
      "two in the patches of a machine": [
        program("adopt", "a", { machine: "a", patches: [part, part] }),
      ],
      "one by Omni and one by hand": [
        program("omni-apply", "a", { machine: "a", resources: [{ spec: { data: part } }] }),
        program("adopt", "b", { machine: "a", patches: [part] }),
      ],
      "two for an owned machine": ["a", "b"].map((name) =>
        resource("talos:machine/configurationApply:ConfigurationApply", name, {
          node: "10.0.0.1",
          configPatches: [part],
        }),
      ),
    },
  },
  "control-planes-one-by-one": {
    right: {
      "one after the other": [
        one,
        program("upgrade", "cp-2", { machine: "cp-2", role: "controlplane" }, [one]),
      ],
      "workers next to each other": [upgrade("gpu-1"), upgrade("gpu-2")],
    },
    wrong: {
      "two at a time": [one, program("upgrade", "cp-2", { machine: "cp-2", role: "controlplane" })],
    },
  },
  "gpus-behind-the-gate": {
    right: {
      "a tested machine, and a pod behind the gate": [upgrade("gpu-1"), gate, pod(gpu, {}, [gate])],
    },
    wrong: {
      "a machine that no gate tests": [upgrade("gpu-1"), upgrade("gpu-2"), gate],
      "a pod that waits for nothing": [upgrade("gpu-1"), gate, pod(gpu)],
    },
  },
  "privileged-pods-where-declared": {
    right: {
      "in a namespace that says so": [
        namespace(enforce("privileged")),
        pod({ securityContext: { privileged: true } }),
      ],
      "none with the host's rights": [namespace(enforce("baseline")), pod({})],
    },
    wrong: {
      "a privileged container": [
        namespace(enforce("baseline")),
        pod({ securityContext: { privileged: true } }),
      ],
      "a folder of the host": [pod({}, { volumes: [{ hostPath: { path: "/" } }] })],
    },
  },
  "gpu-pods-ask-for-gpus": {
    right: {
      "a pod that asks": [pod(gpu, { runtimeClassName: "nvidia" })],
      "a pod that sees none": [
        pod(
          { env: [{ name: "NVIDIA_VISIBLE_DEVICES", value: "void" }] },
          { runtimeClassName: "nvidia" },
        ),
      ],
    },
    wrong: {
      "a pod of the RuntimeClass alone": [pod({}, { runtimeClassName: "nvidia" })],
      "a pod that sets the variable": [
        pod({ env: [{ name: "NVIDIA_VISIBLE_DEVICES", value: "all" }] }),
      ],
    },
  },
  "pod-security-labels": {
    right: {
      "a level": [namespace(enforce("baseline"))],
      "a cluster that is yet to be made, of whose objects a preview knows nothing": [
        resource("kubernetes:core/v1:Namespace", "ai", {}),
      ],
    },
    wrong: { "no level": [namespace()], "another label": [namespace({ team: "a" })] },
  },
  "images-by-release": {
    right: {
      "a release": [pod({ image: "r:5000/a/b:v1.2" })],
      "a digest": [pod({ image: `a@sha256:${"0".repeat(64)}` })],
    },
    wrong: { "no tag": [pod({ image: "r:5000/a/b" })], latest: [pod({ image: "a:latest" })] },
  },
};

test("every policy has stacks that keep to it, and stacks that break it", () => {
  expect(Object.keys(cases)).toEqual(policies.map(({ name }) => name));
});

describe.each(policies.map((policy) => [policy.name, policy] as const))("%s", (name, policy) => {
  const { right, wrong } = cases[name]!;
  test.each(Object.entries(right))("%s: is right", (_name, resources) => {
    expect(policy.find(resources, settings)).toEqual([]);
  });
  test.each(Object.entries(wrong))(
    "%s: is reported, with a reason and a remedy",
    (_name, resources) => {
      const found = policy.find(resources, settings);
      expect(found).toHaveLength(1);
      expect(found[0]!.message.split("; ").length).toBeGreaterThanOrEqual(3);
      // Resources that a preview does not know yet, and that throw as they are read, do not hide it either. (An unknown namespace may
      // be the one that allows a privileged pod.)
      const others = resources.filter(
        ({ type }) => name === "pod-security-labels" || !type.endsWith(":Namespace"),
      );
      const blank = others.map((each) => ({
        ...each,
        urn: `${each.urn}-blank`,
        props: unknownCheckingProxy(allUnknown(each.props)),
        dependencies: [],
      }));
      const beside = policy.find(knownPart([...resources, ...blank]), settings);
      const told = (all: typeof found) =>
        all.map(({ resource: { urn }, message }) => [urn, message]);
      expect(told(beside)).toEqual(told(found));
    },
  );
});

test.each(stacks)("stack %s keeps to every policy", async (stack) => {
  const resources = asResources(await run(stack));
  expect(resources.length).toBeGreaterThan(10);
  const found = policies.flatMap((policy) =>
    policy.find(resources, settings).map(({ message }) => `${policy.name}: ${message}`),
  );
  expect(found).toEqual([]);
});
