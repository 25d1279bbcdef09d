import { findRelease, usesContainerCli } from "../../../components/recipe/facts/talos-release";
import { describeReal } from "../../../tests/e2e/support/real-node";
import { emulated, type Found, machine, openStand, type Stand, until } from "./stand";

// The real toolkit of Talos 1.12. The recipe, the pages and the emulation rely on the mode that its runtime chooses.

const release = "v1.12.6";
const pods = "/api/v1/namespaces/default/pods";

describeReal(`a real node of Talos ${release}`, () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await openStand("node-1.12");
  });
  afterAll(() => stand?.close());

  /**
   * Runs a pod that requests cards from NVIDIA's runtime by environment variable. Gives its container once its state
   * is as wanted.
   */
  const podWith = async (
    cards: string,
    node: string,
    holds: (container: Found) => boolean,
  ): Promise<Found> => {
    const name = `sees-${cards}-on-${node}`;
    const env = [{ name: "NVIDIA_VISIBLE_DEVICES", value: cards }];
    const container = { name: "main", image: "busybox:1.37", command: ["sleep", "600"], env };
    await stand.kubernetes.create(pods, {
      metadata: { name },
      spec: {
        ...onto(node),
        runtimeClassName: "nvidia",
        restartPolicy: "Never",
        containers: [container],
      },
    });
    const read = (): Promise<Found> => stand.kubernetes.readPath(`${pods}/${name}`);
    const has = ({ status }: Found): boolean => holds(status?.containerStatuses?.[0]?.state ?? {});
    return until(`${name}'s container`, read, has);
  };
  const onto = (node: string): Found => ({
    nodeSelector: { "kubernetes.io/hostname": node },
    terminationGracePeriodSeconds: 0,
  });

  test("the node runs the toolkit that the tables list for its release", async () => {
    const said = await stand.onNode("/usr/bin/nvidia-ctk --version");
    expect(said).toContain(`version ${findRelease(release)!.drivers.toolkit}\n`);
  });

  test("the node's runtime uses the mode that the recipe assumes", async () => {
    const logs = "/run/containerd/io.containerd.runtime.v2.task/k8s.io/*/log.json";
    await podWith("all", machine, ({ running }) => running !== undefined);
    const said = await stand.onNode(`grep -oh "Auto-detected mode as '[a-z-]*'" ${logs} | sort -u`);
    const modes = said.trim().split("\n");
    // The runtime also logs a mode for the CDI specification's source, NVML.
    expect(modes).toContain(
      `Auto-detected mode as '${usesContainerCli(release) ? "legacy" : "jit-cdi"}'`,
    );
  });

  test("the emulated runtime refuses a missing card with the real runtime's message", async () => {
    const messages = await Promise.all(
      [machine, emulated].map(async (node) => {
        const { status } = await podWith(
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
