import { waitForOmni } from "../../../components/program/omni/wait";
import { omniWaitTask, type OmniWaitTask } from "../../../components/program/task";
import { customizationPath } from "../../../components/recipe";
import { mergedConfigurationPath } from "../../../components/recipe/machine/containerd/effective";
import { FakeOmni } from "./fake-omni";
import { FakeClock, FakeMachine } from "../fakes";
import { waitingForSandbox } from "../fakes/machine";
import { errorMessageOf } from "../setup";

const uuid = "ce4d0d52-6c10-bdc9-746c-88aedd67681b";
const ignoreLine = (): void => {};

describe("omni-wait", () => {
  const createTask = (fields: Partial<OmniWaitTask> = {}): OmniWaitTask =>
    omniWaitTask.parse({
      machine: "gpu-1",
      address: "192.0.2.1",
      uuid,
      cluster: "frank",
      talosVersion: "v1.12.6",
      configurationHash: "h",
      extensions: ["siderolabs/x"],
      modules: [],
      extensionServices: [],
      files: {},
      timeouts: { reboot: "10m", verify: "5m" },
      ...fields,
    });
  const createClients = () => {
    const clock = new FakeClock();
    return { omni: new FakeOmni(), machine: new FakeMachine(clock), clock, report: ignoreLine };
  };

  test("ends once the machine has the wanted release, extensions and configuration", async () => {
    const clients = createClients();
    clients.omni.hasPendingChanges = true;
    clients.clock.after(120, () => (clients.omni.hasPendingChanges = false));
    expect(await waitForOmni(createTask(), clients)).toMatchObject({
      talosVersion: "v1.12.6",
      schematicId: "s",
    });
    expect(clients.clock.now()).toBeGreaterThanOrEqual(120_000);
  });

  test("asks once to add the machine to its cluster, and continues after that", async () => {
    const logLines: string[] = [];
    const clients = { ...createClients(), report: (line: string) => logLines.push(line) };
    const { state } = clients.omni;
    clients.omni.state = undefined;
    clients.clock.after(600, () => (clients.omni.state = state));
    await waitForOmni(createTask(), clients);
    expect(logLines.join()).not.toContain("template"); // a sync of a template would remove patches and extensions
    expect(clients.clock.now()).toBeGreaterThanOrEqual(600_000);
    expect(
      logLines.filter((line) =>
        line.includes(`add the machine ${uuid} to the cluster frank in Omni`),
      ),
    ).toHaveLength(1);
  });

  describe("a paused boot", () => {
    const setupPausedBoot = () => {
      const logLines: string[] = [];
      const clients = { ...createClients(), report: (line: string) => logLines.push(line) };
      clients.machine.stageName = "booting";
      clients.machine.bootProblems = [
        "writeUserFiles failed, rebooting in 35 minutes … already exists",
      ];
      return {
        clients,
        logLines,
        pauseLines: () => logLines.filter((line) => line.includes("its boot does not go on")),
      };
    };

    test("is reported, and ends the wait if the next boot fails too", async () => {
      const { clients, pauseLines } = setupPausedBoot();
      clients.clock.after(300, () => clients.machine.bootCount++);
      const message = await errorMessageOf(
        waitForOmni(createTask({ driverVersion: "570.211.01" }), clients),
      );
      expect(message).toContain("machines.gpu-1: its boot does not go on: writeUserFiles failed");
      expect(message).toContain("again and again");
      expect(pauseLines()).toHaveLength(1);
      expect(clients.clock.now()).toBeLessThan(310_000);
    });

    test("does not end the wait if the patch is corrected during the pause", async () => {
      const { clients, pauseLines } = setupPausedBoot();
      const files = { "/proc/modules": "overlay 1 0 - Live 0x0\n" };
      clients.omni.state!.ready = false;
      clients.clock.after(300, () => {
        clients.machine.bootCount++;
        clients.machine.stageName = "running";
        clients.machine.bootProblems = [];
        clients.omni.state!.ready = true;
      });
      clients.machine.read = async () =>
        clients.machine.bootCount > 1 ? files["/proc/modules"] : undefined;
      await waitForOmni(createTask({ files }), clients);
      expect(pauseLines()).toHaveLength(1);
    });
  });

  describe("the containerd part on Talos 1.14, which keeps it only in memory", () => {
    const runtime = 'plugins."io.containerd.cri.v1.runtime"';
    const containerdPart = `[${runtime}]\ncdi_spec_dirs = ["/var/cdi"]\n\n[${runtime}.containerd]\ndefault_runtime_name = "nvidia"\n`;
    /**
     * Merges as Talos does (talos v1.14.1, internal/app/machined/pkg/controllers/files/cri_config.go,
     * internal/pkg/toml/merge.go).
     */
    const mergedConfiguration = (name: string, customizations: string[]): string =>
      [
        "## file /etc/cri/conf.d/00-base.part (sha256:aa)",
        ...customizations.map(
          (customization) => `## in-memory customization "${customization}" (sha256:bb)`,
        ),
        "",
        "version = 3",
        "[plugins]",
        `  [${runtime}]`,
        "    enable_cdi = true",
        '    cdi_spec_dirs = ["/run/cdi", "/var/cdi"]',
        `    [${runtime}.containerd]`,
        `      default_runtime_name = "${name}"`,
      ].join("\n");
    const waitOnTalos114 = (configuration: string | undefined) => {
      const clients = createClients();
      clients.omni.imageState!.talosVersion = "v1.14.1";
      if (configuration !== undefined)
        clients.machine.files[mergedConfigurationPath] = configuration;
      return waitForOmni(createTask({ talosVersion: "v1.14.1", containerdPart }), clients);
    };

    test("is in effect if the merged configuration has all of its values", async () => {
      const imageState = await waitOnTalos114(mergedConfiguration("nvidia", ["customization"]));
      expect(imageState).toMatchObject({ talosVersion: "v1.14.1" });
    });

    test("is not in effect if the merged configuration lacks its keys, and the message names them", async () => {
      const message = await errorMessageOf(waitOnTalos114("version = 3\n"));
      expect(message).toContain(
        `${mergedConfigurationPath} lacks plugins."io.containerd.cri.v1.runtime".cdi_spec_dirs, plugins."io.containerd.cri.v1.runtime".containerd.default_runtime_name`,
      );
    });

    test("is not in effect if overridden, and the message names only the document that Talos merges later", async () => {
      const message = await errorMessageOf(
        waitOnTalos114(mergedConfiguration("runc", ["aa", "customization", "zz"])),
      );
      expect(message).toContain("containerd.default_runtime_name");
      expect(message).toContain(
        "CRICustomizationConfig zz may override these keys, because Talos merges these settings in the order of the names",
      );
      expect(message).not.toContain("CRICustomizationConfig aa");
    });

    test("is not in effect while containerd waits for the boot that activates workload isolation", async () => {
      const clients = createClients();
      clients.machine.cri = waitingForSandbox;
      const message = await errorMessageOf(waitForOmni(createTask(), clients));
      expect(message).toContain(
        'service cri is Waiting and not healthy (Waiting for service "sandboxd"',
      );
      expect(message).toContain("so reboot the machine");
    });

    test("is not in effect while the merged configuration is missing", async () => {
      expect(await errorMessageOf(waitOnTalos114(undefined))).toContain(
        `${mergedConfigurationPath} is missing`,
      );
    });
  });

  test.each<[string, (omni: FakeOmni) => void, Partial<OmniWaitTask>, string]>([
    [
      "the machine is in no cluster",
      (omni) => (omni.state = undefined),
      {},
      "it is in no cluster: add the machine",
    ],
    [
      "Omni does not know the machine",
      (omni) => (omni.imageState = undefined),
      {},
      "Omni knows no machine",
    ],
    [
      "the machine runs another release",
      (omni) => (omni.imageState!.talosVersion = "v1.12.4"),
      {},
      "it runs v1.12.4, not v1.12.6",
    ],
    [
      "the image lacks an extension",
      (omni) => (omni.imageState!.extensions = []),
      {},
      "its image lacks the extensions siderolabs/x",
    ],
    [
      "Omni still has changes to apply",
      (omni) => (omni.state!.configUpToDate = false),
      {},
      "Omni still has to apply changes to the machine",
    ],
    [
      "Omni could not apply the configuration",
      (omni) => (omni.state!.configError = "not allowed"),
      {},
      "could not apply the machine's configuration: not allowed",
    ],
    [
      "no driver is loaded",
      () => {},
      { driverVersion: "570.211.01" },
      "no NVIDIA driver is loaded",
    ],
    [
      "a file differs",
      () => {},
      { files: { "/proc/sys/a": "x" } },
      "/proc/sys/a differs from the configuration",
    ],
    [
      "containerd's part differs",
      () => {},
      { containerdPart: "a = 1\n" },
      `${customizationPath} is not as configured`,
    ],
    [
      "the machine is not ready",
      (omni) => (omni.state!.ready = false),
      {},
      "Omni reports the machine as not ready",
    ],
  ])(
    "ends at its limit with an error that says why: %s",
    async (_, changeOmni, taskFields, expectedPart) => {
      const clients = createClients();
      changeOmni(clients.omni);
      const message = await errorMessageOf(waitForOmni(createTask(taskFields), clients));
      expect(message).toContain(expectedPart);
      expect(message).toContain("25m");
    },
  );
});
