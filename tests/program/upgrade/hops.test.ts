import { CallError } from "../../../components/clients/failure";
import { longestRun } from "../../../components/recipe/effect";
import { factoryImage, type FakeMachine, nodeState, pod, schematics } from "../fakes";
import { runAfterKill } from "../run-after-kill";
import { setupUpgrade, STAGED } from "../setup";
import { runUpgrade, type UpgradeRun } from "./scenario";

// A machine that crosses several minor releases in one update, over the last patch release of each.

const STAGED_WITH_SYSCTL = `${STAGED}  sysctls: {a: b}\n`;
const driverVersions = {
  "v1.10.9": "570.148.08",
  "v1.11.5": "570.172.08",
  "v1.11.6": "570.172.08",
  "v1.13.9": "595.91.07",
  "v1.14.1": "595.91.07",
};

/** A machine that an earlier update upgraded to v1.11.5. */
const machine = (): Partial<FakeMachine> => ({
  talosVersion: "v1.11.5",
  schematicId: schematics.gpu,
  active: STAGED,
  persistent: STAGED_WITH_SYSCTL,
  driverVersions,
});
/** A run that upgrades this machine to a release. */
const upgradeOfMachineTo = (
  talosVersion: string,
  taskFields: UpgradeRun["task"] = {},
): Pick<UpgradeRun, "task" | "machine"> => ({
  task: { talosVersion, driverVersion: "595.91.07", ...taskFields },
  machine: machine(),
});

describe("a machine that is several minors behind", () => {
  test("is upgraded through the last patch release of each minor, with one drain", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9"),
      cluster: { podList: [pod("app")] },
      expect: {
        intermediateReleases: 1,
        result: { talosVersion: "v1.13.9", driverVersion: "595.91.07", bootId: "boot-3" },
        machineCalls: [
          `pull ${factoryImage("v1.12.12")}`,
          "upgrade legacy",
          `pull ${factoryImage("v1.13.9")}`,
          "upgrade legacy",
        ],
        kubernetesCalls: ["cordon", "evict app", "uncordon"],
        machine: { bootCount: 3, active: STAGED_WITH_SYSCTL },
        node: { unschedulable: false, annotations: {} },
      },
    }));

  test("is upgraded through the releases that the Image Factory lists", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9"),
      context: {
        releases: async () => ["v1.12.3", "v1.12.6", "v1.12.7-beta.0", "v1.13.9", "v1.13.12"],
      },
      expect: {
        intermediateReleases: 1,
        machineCalls: [
          `pull ${factoryImage("v1.12.6")}`,
          "upgrade legacy",
          `pull ${factoryImage("v1.13.9")}`,
          "upgrade legacy",
        ],
      },
    }));

  test("accepts any driver of its branch on an intermediate release that the tables lack", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9"),
      machine: { ...machine(), driverVersions: { ...driverVersions, "v1.12.99": "570.999.01" } },
      context: { releases: async () => ["v1.12.99"] },
      expect: {
        intermediateReleases: 1,
        result: { talosVersion: "v1.13.9" },
        machine: { bootCount: 3 },
      },
    }));

  test("stops on an intermediate release if the wrong driver is loaded there", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9"),
      machine: { ...machine(), driverVersions: { ...driverVersions, "v1.12.12": "570.1.1" } },
      expect: {
        error: ["NVIDIA driver 570.1.1 is loaded, not 570.211.01", "runs v1.12.12 now"],
        machine: { bootCount: 2 },
        node: { unschedulable: true },
      },
    }));

  test("is upgraded over three minors, each time through the API of the running release", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.14.1"),
      expect: {
        intermediateReleases: 2,
        result: { talosVersion: "v1.14.1" },
        machineCalls: [
          `pull ${factoryImage("v1.12.12")}`,
          "upgrade legacy",
          `pull ${factoryImage("v1.13.9")}`,
          "upgrade legacy",
          `pull ${factoryImage("v1.14.1")}`,
          "upgrade lifecycle",
        ],
        machine: { bootCount: 4 },
      },
    }));

  test("keeps its release if the first upgrade fails, and the failure names this release", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9"),
      machine: { ...machine(), rollsBack: true },
      expect: {
        error: [
          "rolled back",
          "on the upgrade path v1.11.5 → v1.12.12 → v1.13.9",
          "runs v1.11.5 now",
        ],
        machine: { bootCount: 2, talosVersion: "v1.11.5" },
        node: { unschedulable: true },
      },
    }));

  const failureOnIntermediateRelease: UpgradeRun = {
    ...upgradeOfMachineTo("v1.13.9"),
    events: [{ atSecond: 200, machine: { rollsBack: true } }],
    expect: {
      error: [
        "rolled back",
        "on the upgrade path v1.11.5 → v1.12.12 → v1.13.9",
        "runs v1.12.12 now",
      ],
      machine: { bootCount: 3, talosVersion: "v1.12.12" },
      node: { unschedulable: true },
    },
  };
  test("stays on an intermediate release if the second upgrade fails, and the next run continues from it", () =>
    runUpgrade(failureOnIntermediateRelease, {
      task: upgradeOfMachineTo("v1.13.9").task!,
      machine: { rollsBack: false },
      expect: {
        result: { talosVersion: "v1.13.9" },
        machineCalls: [`pull ${factoryImage("v1.13.9")}`, "upgrade legacy"],
        node: { unschedulable: false },
      },
    }));

  test("waits between two upgrades until etcd is healthy", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9", { role: "controlplane" }),
      machine: { ...machine(), etcdState: "Running" },
      events: [
        { atSecond: 100, machine: { reportedEtcdProblems: ["no leader"] } },
        // The first upgrade is over by then. An upgrade that does not wait for etcd is rolled back.
        { atSecond: 200, machine: { rollsBack: true } },
        { atSecond: 400, machine: { reportedEtcdProblems: [], rollsBack: false } },
      ],
      expect: {
        intermediateReleases: 1,
        result: { talosVersion: "v1.13.9" },
        machine: { bootCount: 3 },
      },
    }));

  test("stops between two upgrades if etcd does not become healthy", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9", { role: "controlplane" }),
      machine: { ...machine(), etcdState: "Running" },
      events: [{ atSecond: 100, machine: { reportedEtcdProblems: ["no leader"] } }],
      expect: {
        error: ["etcd member reports: no leader", "runs v1.12.12 now"],
        machine: { bootCount: 2, talosVersion: "v1.12.12" },
      },
    }));

  test("stops between two upgrades if its node does not become ready", () =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9"),
      events: [
        { atSecond: 100, cluster: { state: nodeState({ ready: false, unschedulable: true }) } },
      ],
      expect: {
        error: ["its node is not ready", "runs v1.12.12 now"],
        machine: { bootCount: 2, talosVersion: "v1.12.12" },
      },
    }));
});

describe("an upgrade over several minors is refused before any change", () => {
  const expectRefusal = (error: [string, ...string[]], run: Partial<UpgradeRun>): Promise<void> =>
    runUpgrade({
      ...upgradeOfMachineTo("v1.13.9"),
      ...run,
      expect: { error, changesNothing: true },
    });

  test("if the intermediate release lacks an extension", () =>
    expectRefusal(
      ["v1.12.12 has no extension siderolabs/uhid", "v1.12.12 first, then to v1.13.9"],
      {
        imageAlsoHas: { extensions: ["siderolabs/uhid"] },
      },
    ));
  test("if the image is the user's own", () =>
    expectRefusal(["installerImage", "2 updates"], {
      task: {
        ...upgradeOfMachineTo("v1.13.9").task,
        ownImage: true,
        installerImage: "registry.example/own:1.13.9",
      },
    }));
  test("if no NVIDIA driver is loaded on the machine", () =>
    expectRefusal(["no NVIDIA driver is loaded on the machine"], {
      machine: { ...machine(), driverWorks: false },
    }));
  test("if the intermediate release's driver is not between the first and the last driver", () =>
    expectRefusal(["is not between the loaded driver 580.1.2 and the wanted driver 595.91.07"], {
      machine: { ...machine(), driverVersions: { "v1.11.5": "580.1.2" } },
    }));
  test("if the intermediate release does not support the kubelet", () =>
    expectRefusal(
      [
        "Kubernetes 1.36 does not run on v1.12.12",
        "set kubernetesVersion to a release from 1.31 to 1.35",
      ],
      {
        machine: {
          ...machine(),
          persistent: `${STAGED_WITH_SYSCTL}  kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.36.1"}\n`,
        },
      },
    ));
  test("if etcd on the control planes would be two minors apart", () =>
    expectRefusal(["etcd would go from 3.5 to 3.7", "others run 3.5"], {
      ...upgradeOfMachineTo("v1.14.1", { role: "controlplane" }),
      machine: {
        ...machine(),
        talosVersion: "v1.10.9",
        etcdState: "Running",
        members: [1, 2, 3].map((id) => ({
          id: `${id}`,
          hostname: `cp-${id}`,
          learner: false,
          urls: ["https://10.0.0.1:2380"],
        })),
      },
    }));
  test("if the Image Factory lists no release of the intermediate minor", () =>
    expectRefusal(["no release of 1.12 is known"], {
      context: { releases: async () => ["v1.11.5", "v1.13.9"] },
    }));
  test("if talosctl does not fit both the first and the last release", () =>
    expectRefusal(["does not work with a machine that is upgraded from v1.11.5 to v1.13.9"], {
      context: { clientVersion: "v1.10.0" },
    }));
});

/**
 * Kills an upgrade and runs it again.
 *
 * @param killPoint number of the progress line or changing call that kills the first run; undefined kills none.
 */
async function killAndRunAgain(killPoint: number | undefined): Promise<{ pointCount: number }> {
  const setup = setupUpgrade(upgradeOfMachineTo("v1.13.9").task);
  Object.assign(setup.machine, machine());
  setup.cluster.podList = [pod("app")];
  const { result, pointCount } = await runAfterKill(setup, killPoint);
  expect(result).toMatchObject({ talosVersion: "v1.13.9" });
  expect(setup.machine).toMatchObject({
    bootCount: 3,
    talosVersion: "v1.13.9",
    active: STAGED_WITH_SYSCTL,
  });
  expect(setup.machine.calls.filter((call) => call.startsWith("upgrade"))).toHaveLength(2);
  expect(setup.cluster.state).toEqual(nodeState());
  return { pointCount };
}

test("if an upgrade over two minors is killed at any progress line or changing call, the next run completes it without a third boot", async () => {
  const { pointCount } = await killAndRunAgain(undefined);
  expect(pointCount).toBeGreaterThan(20);
  for (let killPoint = 0; killPoint < pointCount; killPoint++) await killAndRunAgain(killPoint);
});

test("each further upgrade adds the limits of its own phases to the limit of a run", () => {
  const minutes = (count: number): number => count * 60_000;
  const limits = { pull: minutes(11), drain: minutes(6), reboot: minutes(31), verify: minutes(5) };
  const [limitOfThreeUpgrades, limitOfTwoUpgrades] = [longestRun(limits, 2), longestRun(limits, 1)];
  const additionalTime = limitOfThreeUpgrades - limitOfTwoUpgrades;
  const [comparison, precheck] = [minutes(10), minutes(5)];
  expect(additionalTime).toBe(
    comparison + precheck + limits.pull + limits.drain + limits.reboot + limits.verify,
  );
});

test("the error of a failed upgrade reports that the machine no longer answers", async () => {
  const setup = setupUpgrade(upgradeOfMachineTo("v1.13.9").task);
  Object.assign(setup.machine, machine(), { rollsBack: true });
  setup.machine.afterCall = (call) => {
    if (call === "upgrade")
      setup.clock.after(900, () => {
        setup.machine.version = () => Promise.reject(new CallError("unreachable", "no route"));
      });
  };
  setup.machine.timing = { install: 40, boot: 900 };
  await expect(setup.run()).rejects.toThrow(/does not answer now/);
});
