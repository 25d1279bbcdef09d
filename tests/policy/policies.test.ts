import { knownPart } from "../../policy/known";
import { policies } from "../../policy/policies";
import type { Resource } from "../../policy/policies/policy";
import { runStack } from "../support/stack-run";
import { stacks } from "../support/stacks";
import { asResources } from "./resources";

// The proxies by which @pulumi/policy hides unknown values from a policy in a preview. The package has no types
// for them.
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
const pod = (container: object, spec: object = {}, dependencies: Resource[] = []): Resource =>
  resource(
    "kubernetes:core/v1:Pod",
    "pod",
    {
      metadata: { name: "pod", namespace: "ai" },
      spec: { containers: [{ image: "cuda:12.5.0", ...container }], ...spec },
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
const firstControlPlane = program("upgrade", "cp-1", { machine: "cp-1", role: "controlplane" });
const gate = program("gate", "gate", { tests: [{ machine: "gpu-1", job: "test-gpu-1" }] });
const gpu = { resources: { limits: { "nvidia.com/gpu": "1" } } };
const upgrade = (machine: string): Resource =>
  program("upgrade", machine, { machine, role: "worker", modules: ["nvidia"] });

/** For each policy: stacks that comply with it, and stacks that violate it. */
const cases: Record<
  string,
  { accepted: Record<string, Resource[]>; reported: Record<string, Resource[]> }
> = {
  "one-containerd-part": {
    accepted: {
      "a part on each of two machines": ["a", "b"].map((machine) =>
        program("adopt", machine, { machine, patches: [part] }),
      ),
    },
    reported: {
      "two parts in the patches of a machine": [
        program("adopt", "a", { machine: "a", patches: [part, part] }),
      ],
      "one part from Omni and one from the stack's patches": [
        program("omni-apply", "a", { machine: "a", resources: [{ spec: { data: part } }] }),
        program("adopt", "b", { machine: "a", patches: [part] }),
      ],
      "two parts for an owned machine": ["a", "b"].map((name) =>
        resource("talos:machine/configurationApply:ConfigurationApply", name, {
          node: "10.0.0.1",
          configPatches: [part],
        }),
      ),
    },
  },
  "control-planes-one-by-one": {
    accepted: {
      "control planes one after the other": [
        firstControlPlane,
        program("upgrade", "cp-2", { machine: "cp-2", role: "controlplane" }, [firstControlPlane]),
      ],
      "workers at the same time": [upgrade("gpu-1"), upgrade("gpu-2")],
    },
    reported: {
      "two control planes at the same time": [
        firstControlPlane,
        program("upgrade", "cp-2", { machine: "cp-2", role: "controlplane" }),
      ],
    },
  },
  "gpus-behind-the-gate": {
    accepted: {
      "a tested machine, and a pod behind the gate": [upgrade("gpu-1"), gate, pod(gpu, {}, [gate])],
    },
    reported: {
      "a machine that no gate tests": [upgrade("gpu-1"), upgrade("gpu-2"), gate],
      "a pod that does not wait for the gate": [upgrade("gpu-1"), gate, pod(gpu)],
    },
  },
  "privileged-pods-where-declared": {
    accepted: {
      "a privileged pod in a privileged namespace": [
        namespace(enforce("privileged")),
        pod({ securityContext: { privileged: true } }),
      ],
      "an unprivileged pod in a baseline namespace": [namespace(enforce("baseline")), pod({})],
    },
    reported: {
      "a privileged pod in a baseline namespace": [
        namespace(enforce("baseline")),
        pod({ securityContext: { privileged: true } }),
      ],
      "a hostPath volume in a namespace without a level": [
        pod({}, { volumes: [{ hostPath: { path: "/" } }] }),
      ],
    },
  },
  "gpu-pods-ask-for-gpus": {
    accepted: {
      "a pod that requests a GPU": [pod(gpu, { runtimeClassName: "nvidia" })],
      "a pod whose NVIDIA_VISIBLE_DEVICES is void": [
        pod(
          { env: [{ name: "NVIDIA_VISIBLE_DEVICES", value: "void" }] },
          { runtimeClassName: "nvidia" },
        ),
      ],
    },
    reported: {
      "a pod with the RuntimeClass and no GPU request": [pod({}, { runtimeClassName: "nvidia" })],
      "a pod that sets NVIDIA_VISIBLE_DEVICES to all": [
        pod({ env: [{ name: "NVIDIA_VISIBLE_DEVICES", value: "all" }] }),
      ],
    },
  },
  "pod-security-labels": {
    accepted: {
      "a namespace with a level": [namespace(enforce("baseline"))],
      "a namespace whose properties the preview does not know": [
        resource("kubernetes:core/v1:Namespace", "ai", {}),
      ],
    },
    reported: {
      "a namespace without labels": [namespace()],
      "a namespace with another label only": [namespace({ team: "a" })],
    },
  },
  "images-by-release": {
    accepted: {
      "an image with a release as tag": [pod({ image: "r:5000/a/b:v1.2" })],
      "an image with a digest": [pod({ image: `a@sha256:${"0".repeat(64)}` })],
    },
    reported: {
      "an image without a tag": [pod({ image: "r:5000/a/b" })],
      "an image with the tag latest": [pod({ image: "a:latest" })],
    },
  },
};

test("every policy has resources that it accepts, and resources that it reports", () => {
  expect(Object.keys(cases)).toEqual(policies.map(({ name }) => name));
  for (const { accepted, reported } of Object.values(cases)) {
    expect(accepted).not.toEqual({});
    expect(reported).not.toEqual({});
  }
});

describe.each(policies)("the policy $name", (policy) => {
  const { name } = policy;
  const { accepted, reported } = cases[name]!;

  test.each(Object.entries(accepted))("accepts %s", (_name, resources) => {
    expect(policy.find(resources, settings)).toEqual([]);
  });

  test.each(Object.entries(reported))(
    "reports %s, with a reason and a remedy",
    (_name, resources) => {
      const violations = policy.find(resources, settings);
      expect(violations).toHaveLength(1);
      expect(violations[0]!.message.split("; ").length).toBeGreaterThanOrEqual(3);
    },
  );

  // A resource whose values the preview does not know yet throws when a policy reads it.
  test.each(Object.entries(reported))(
    "also reports %s next to resources that the preview does not know",
    (_name, resources) => {
      // An unknown namespace may be the one that allows a privileged pod.
      const copied = resources.filter(
        ({ type }) => name === "pod-security-labels" || !type.endsWith(":Namespace"),
      );
      const unknownResources = copied.map(({ urn, props, ...otherFields }) => ({
        ...otherFields,
        urn: `${urn}-unknown`,
        props: unknownCheckingProxy(allUnknown(props)),
        dependencies: [],
      }));
      const violationsOf = (known: Resource[]) =>
        policy.find(known, settings).map(({ resource: { urn }, message }) => ({ urn, message }));
      expect(violationsOf(knownPart([...resources, ...unknownResources]))).toEqual(
        violationsOf(resources),
      );
    },
  );
});

test.each(stacks)("the stack %s violates no policy", async (stack) => {
  const resources = asResources(await runStack(stack));
  expect(resources.length).toBeGreaterThan(10);
  const violations = policies.flatMap((policy) =>
    policy.find(resources, settings).map(({ message }) => `${policy.name}: ${message}`),
  );
  expect(violations).toEqual([]);
});
