import { clusterArgs, registerCluster } from "../support/gpu-cluster";
import type { Run } from "../support/recorder";
import { stacks } from "../support/stacks";

// The containers of this package have only the rights that they need, so that an attacker in one gains little.

interface Container {
  name: string;
  image?: string;
  securityContext?: {
    privileged?: boolean;
    allowPrivilegeEscalation?: boolean;
    capabilities?: { drop?: string[]; add?: string[] };
    seccompProfile?: { type: string };
  };
}
interface PodSpec {
  initContainers?: Container[];
  containers: Container[];
  automountServiceAccountToken?: boolean;
}

/** Every pod specification inside a value: of a Deployment, a DaemonSet, a Job, a LeaderWorkerSet, or a pod. */
function podsIn(value: unknown): PodSpec[] {
  if (value === null || typeof value !== "object") return [];
  const { containers } = value as { containers?: unknown };
  const nestedPods = Object.values(value).flatMap(podsIn);
  return Array.isArray(containers) ? [value as PodSpec, ...nestedPods] : nestedPods;
}

const podsOf = (run: Run): { resource: string; pod: PodSpec }[] =>
  run.resources
    .filter(({ type }) => /^kubernetes:(?!helm)/.test(type))
    .flatMap(({ type, name, inputs }) =>
      podsIn(inputs).map((pod) => ({ resource: `${type} ${name}`, pod })),
    );

/** Credentials of stacks that need other ones than most. */
const credentialsByStack: Record<string, Record<string, unknown>> = {
  frank: { omniEndpoint: "https://omni.example.org", omniServiceAccountKey: "key" },
  modern: { kubeconfig: undefined, talosconfig: undefined, machineSecrets: undefined },
};
const monitoring = { alerts: true, serviceMonitor: true };
const stacksWithChanges: [string, Record<string, unknown>][] = [
  ...stacks.map((stack): [string, Record<string, unknown>] => [stack, {}]),
  ["aarhus-h100", { monitoring }],
  ["velaryon", { monitoring }],
];

test.each(stacksWithChanges)(
  "pods of %s mount no token, and their containers drop all capabilities and are not privileged (%j)",
  async (stack, changes) => {
    const pods = podsOf(
      await registerCluster(clusterArgs(stack, { ...credentialsByStack[stack], ...changes })),
    );
    expect(pods.length).toBeGreaterThan(0);
    for (const { resource, pod } of pods) {
      expect({ resource, mounts: pod.automountServiceAccountToken }).toEqual({
        resource,
        mounts: false,
      });
      for (const { name, securityContext = {} } of [
        ...(pod.initContainers ?? []),
        ...pod.containers,
      ]) {
        const { capabilities, seccompProfile, privileged, allowPrivilegeEscalation } =
          securityContext;
        // Kubernetes refuses `allowPrivilegeEscalation: false` together with this capability.
        const isAdministrator = capabilities?.add?.includes("SYS_ADMIN") === true;
        const rights = {
          drop: capabilities?.drop,
          seccompProfile,
          privileged,
          allowPrivilegeEscalation,
        };
        expect({ resource, name, ...rights }).toEqual({
          resource,
          name,
          drop: ["ALL"],
          seccompProfile: { type: "RuntimeDefault" },
          privileged: undefined,
          allowPrivilegeEscalation: isAdministrator ? undefined : false,
        });
      }
    }
  },
);
