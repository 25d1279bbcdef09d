import { stringify } from "yaml";
import { CallError } from "../../components/clients/failure";
import { adopt, type AdoptContext, release } from "../../components/program/adopt";
import { customizationPath } from "../../components/recipe";
import { FakeClock, FakeMachine } from "./fakes";
import { errorMessageOf } from "./setup";

const configurationText = (machine: object): string => stringify({ version: "v1alpha1", machine });
const task = {
  machine: "gpu-1",
  address: "10.0.0.1",
  patches: [configurationText({ kernel: { modules: [{ name: "nvidia" }] } })],
};

function setupAdopt(configuration = configurationText({ type: "worker" })) {
  const clock = new FakeClock();
  const machine = new FakeMachine(clock);
  machine.active = machine.persistent = configuration;
  const context: AdoptContext = { machine, clock, report: () => {}, isAwaited: () => true };
  return { machine, context };
}

describe("adopt", () => {
  const documents =
    "---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n---\napiVersion: v1alpha1\nkind: KubeletConfig\n";
  const adoptPatch = (
    patch: string,
    configuration = `${configurationText({ type: "worker" })}${documents}`,
  ) => {
    const { machine, context } = setupAdopt(configuration);
    return { machine, adoption: adopt({ ...task, patches: [patch] }, undefined, context) };
  };

  test("refuses a field whose document the machine has, and names both and the form that works", async () => {
    const { machine, adoption } = adoptPatch(
      configurationText({
        features: { stableHostname: true },
        kubelet: { extraMounts: [{ destination: "/a" }] },
      }),
    );
    const message = await errorMessageOf(adoption);
    expect(message).toContain(
      "machines.gpu-1.patches: with the stack's patches, the machine's configuration has both the document HostnameConfig and the field machine.features.stableHostname; ",
    );
    expect(message).toContain(
      "(machine.features.stableHostname becomes auto: stable of HostnameConfig)",
    );
    expect(message).toContain(
      "the document KubeletConfig and the field machine.kubelet.extraMounts",
    );
    expect(message).toContain(
      "leave machine.kubelet.extraMounts out of the patches, because no document replaces it, or remove KubeletConfig",
    );
    expect(message).not.toContain("credentials");
    expect(machine.calls).toEqual([]);
  });

  test("refuses a document whose field the machine has, and proposes to move the settings to the field", async () => {
    const configuration = configurationText({ type: "worker", kubelet: { image: "a" } });
    const message = await errorMessageOf(
      adoptPatch("apiVersion: v1alpha1\nkind: KubeletConfig\nimage: b\n", configuration).adoption,
    );
    expect(message).toContain(
      "in the patches, write the settings of KubeletConfig as fields of the main configuration, in the same form as machine.kubelet.image. Or, in",
    );
  });

  test("merges a field of the stack into the machine's document", async () => {
    const { machine, adoption } = adoptPatch(
      configurationText({ kubelet: { extraArgs: { v: "4" } } }),
    );
    await adoption;
    expect(machine.calls).toEqual(["stage"]);
    expect(machine.persistent).toBe(
      `${configurationText({ type: "worker" })}${documents}extraArgs:\n  v: "4"\n`,
    );
  });

  test("refuses a machine whose later document would override containerd's part", async () => {
    const partWithLevel = (value: string): string => `[debug]\nlevel = "${value}"\n`;
    const patch = configurationText({
      files: [{ path: customizationPath, op: "create", content: partWithLevel("info") }],
    });
    const document = (name: string, value: string): string =>
      `---\n${stringify({ apiVersion: "v1alpha1", kind: "CRICustomizationConfig", name, content: partWithLevel(value) })}`;
    const configurationWithDocument = (name: string, value: string): string =>
      configurationText({ type: "worker" }) + document(name, value);
    const { machine, adoption } = adoptPatch(patch, configurationWithDocument("zz", "debug"));
    const message = await errorMessageOf(adoption);
    expect(message).toContain(
      "machines.gpu-1.containerd: the machine's configuration sets debug.level to another value, in its document CRICustomizationConfig zz; Talos merges that document after the stack's settings",
    );
    expect(machine.calls).toEqual([]);
    await adoptPatch(patch, configurationWithDocument("zz", "info")).adoption; // the document sets the same value
    await adoptPatch(patch, configurationWithDocument("aa", "debug")).adoption; // the stack's part comes later
  });

  test("merges a sysctl of the stack into the machine's SysctlConfig, and release restores it", async () => {
    const document = (value: string): string =>
      `---\n${stringify({ apiVersion: "v1alpha1", kind: "SysctlConfig", params: { "vm.swappiness": value, a: "b" } })}`;
    const configuration = configurationText({ type: "worker" }) + document("2");
    const { machine, context } = setupAdopt(configuration);
    const sysctlTask = {
      ...task,
      patches: [configurationText({ sysctls: { "vm.swappiness": "1" } })],
    };
    const adoptResult = await adopt(sysctlTask, undefined, context);
    expect(machine.persistent).toBe(configurationText({ type: "worker" }) + document("1"));
    await release(sysctlTask, adoptResult, context);
    expect(machine.persistent).toBe(configuration);
  });

  test("reports Talos' words if only Talos finds the fault", async () => {
    const { machine, context } = setupAdopt();
    machine.stage = () =>
      Promise.reject(
        new CallError(
          "refused",
          "talosctl apply-config failed (exit 1): code = InvalidArgument desc = * unknown conflict",
        ),
      );
    const message = await errorMessageOf(adopt(task, undefined, context));
    expect(message).toMatch(
      /^machines\.gpu-1\.patches: Talos refuses the machine's configuration .* unknown conflict; nothing was changed; /,
    );
  });
});
