import { convert } from "../../../cli/import/convert";
import { readTalconfig } from "../../../cli/import/talconfig";
import { stringify } from "yaml";

const part = (content: string): string =>
  stringify({
    machine: { files: [{ path: "/etc/cri/conf.d/20-customization.part", op: "create", content }] },
  });
const cdiPart = part('[plugins."io.containerd.cri.v1.runtime"]\n  cdi_spec_dirs = ["/nvidia"]\n');
const runtimePart = part(
  '[plugins."io.containerd.cri.v1.runtime".containerd]\n  default_runtime_name = "nvidia"\n',
);
const imagesPart = part(
  '[plugins."io.containerd.cri.v1.images"]\n  discard_unpacked_layers = false\n',
);

function importPatches(talosVersion: string, patches: string[]) {
  const config = stringify({
    talosVersion,
    nodes: [{ hostname: "gpu", ipAddress: "192.0.2.1", patches }],
  });
  const { spec, notes } = convert(readTalconfig(config), { gpu: [{ model: "L4" }] });
  const containerdNotes = notes.filter(({ field }) => field === "machines.gpu.containerd");
  return {
    extra: spec.machines["gpu"]?.containerd?.extra,
    notes: containerdNotes.map(({ problem, why }) => `${problem}; ${why}`).join("\n"),
  };
}

describe("import of several items for containerd's part", () => {
  test.each(["v1.12.6", "v1.14.1"])(
    "takes NVIDIA's first item with a note on Talos %s",
    (release) => {
      const { extra, notes } = importPatches(release, [cdiPart, runtimePart]);
      expect(extra).toContain("cdi_spec_dirs");
      expect(notes).toMatch(
        /20-customization\.part 2 times.*only the first item has an effect, and the stack imports the first item$/m,
      );
      expect(notes.includes("prevents the boot")).toBe(release === "v1.12.6");
    },
  );

  test("takes no item on Talos 1.14 if NVIDIA's item is not the first", () => {
    const { extra, notes } = importPatches("v1.14.1", [imagesPart, runtimePart]);
    expect(extra).toBeUndefined();
    expect(notes).toMatch(
      /only the first item has an effect, so the stack does not import NVIDIA's item, which is a later item$/m,
    );
    expect(notes).not.toMatch(/delete the file from/);
  });

  test("takes NVIDIA's item before Talos 1.14, even if it is not the first", () => {
    const { extra, notes } = importPatches("v1.13.6", [imagesPart, runtimePart]);
    expect(extra).toContain("default_runtime_name");
    expect(notes).toMatch(/, and the stack imports NVIDIA's item$/m);
  });
});
