import { findRelease, usesContainerCli } from "../../../components/recipe/facts/talos-release";
import { describeOnRealNode } from "../../../tests/e2e/support/real-node";
import {
  emulatedNode,
  type KubernetesObject,
  realNode,
  startRealNodeLab,
  type RealNodeLab,
  waitFor,
} from "./real-node-lab";

// The real toolkit of Talos 1.12. The recipe, the pages and the emulation rely on the mode that its runtime chooses.

const release = "v1.12.6";
const pods = "/api/v1/namespaces/default/pods";

describeOnRealNode(`a real node of Talos ${release}`, () => {
  let lab: RealNodeLab;
  beforeAll(async () => {
    lab = await startRealNodeLab("node-1.12");
  });
  afterAll(() => lab?.close());

  /**
   * Runs a pod that requests cards from NVIDIA's runtime by environment variable. Gives the pod once the state of its
   * container is as expected.
   */
  const runPodWithCards = async (
    cards: string,
    node: string,
    condition: (containerState: KubernetesObject) => boolean,
  ): Promise<KubernetesObject> => {
    const name = `sees-${cards}-on-${node}`;
    const env = [{ name: "NVIDIA_VISIBLE_DEVICES", value: cards }];
    const container = { name: "main", image: "busybox:1.37", command: ["sleep", "600"], env };
    await lab.kubernetes.create(pods, {
      metadata: { name },
      spec: {
        ...placementOn(node),
        runtimeClassName: "nvidia",
        restartPolicy: "Never",
        containers: [container],
      },
    });
    const read = (): Promise<KubernetesObject> => lab.kubernetes.readPath(`${pods}/${name}`);
    const isAsExpected = ({ status }: KubernetesObject): boolean =>
      condition(status?.containerStatuses?.[0]?.state ?? {});
    return waitFor(`${name}'s container`, read, isAsExpected);
  };
  const placementOn = (node: string): KubernetesObject => ({
    nodeSelector: { "kubernetes.io/hostname": node },
    terminationGracePeriodSeconds: 0,
  });

  test("the node runs the toolkit that the tables list for its release", async () => {
    const output = await lab.onNode("/usr/bin/nvidia-ctk --version");
    expect(output).toContain(`version ${findRelease(release)!.drivers.toolkit}\n`);
  });

  test("the node's runtime uses the mode that the recipe assumes", async () => {
    const logs = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/*/log.json";
    await runPodWithCards("all", realNode, ({ running }) => running !== undefined);
    const output = await lab.onNode(`grep -oh "Auto-detected mode as '[a-z-]*'" ${logs} | sort -u`);
    const modes = output.trim().split("\n");
    // The runtime also logs a mode for the CDI specification's source, NVML.
    expect(modes).toContain(
      `Auto-detected mode as '${usesContainerCli(release) ? "legacy" : "jit-cdi"}'`,
    );
  });

  test("the emulated runtime refuses a missing card with the real runtime's message", async () => {
    const messages = await Promise.all(
      [realNode, emulatedNode].map(async (node) => {
        const { status } = await runPodWithCards(
          "gpu-nope",
          node,
          ({ terminated }) => terminated !== undefined,
        );
        return status.containerStatuses[0].state.terminated.message as string;
      }),
    );
    expect(messages[1]).toBe(messages[0]);
  });
});
