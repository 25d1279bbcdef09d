import { createHash } from "node:crypto";
import * as semver from "semver";
import { parse } from "yaml";
import { cardsOf } from "../../../cli/discover/cards";
import { labelManagers } from "../../../cli/discover/labels";
import { releasesOf } from "../../../cli/discover/releases";
import type { PciDevice } from "../../../components/clients/talos/pci-device";
import type { Seen, SeenMachine } from "../../../cli/discover/seen";
import { lookAtContainerd } from "../../../cli/discover/containerd";
import { renderDiscovered, stackOf } from "../../../cli/discover/stack-of";
import { schematicOf } from "../../../components/recipe";
import { charts } from "../../../components/recipe/facts/data/charts";
import { containerdPart } from "../../../components/recipe/machine/containerd/containerd";
import { expectSaid } from "../../support/said";
import { fixture, table } from "../../support/table";

/** A row of the table, which says what each part of it is. */
interface Row {
  name: string;
  seen?: { machines?: MachineRow[]; releases?: Seen["releases"] };
  stack?: object;
  machine?: object;
  comments?: Record<string, string>;
  commentsNot?: string;
  findings?: string[];
  cards?: Parameters<typeof card>[];
  gpus?: object[];
  notes?: number;
  workload?: object;
  image?: string;
  release?: object | null;
}
type MachineRow = Omit<Partial<SeenMachine>, "image"> & {
  image?: { extensions?: string[]; args?: string[]; own?: true };
};

const rows = table<Row>(fixture("discovered.yaml"), [
  ...(["name", "seen", "stack", "machine", "comments", "commentsNot", "findings"] as const),
  ...(["cards", "gpus", "notes", "workload", "image", "release"] as const),
]);
const having = (part: keyof Row) => rows.filter(([, row]) => part in row);

const card = (product: string | null, productId: string, subclass = "0x03"): PciDevice => ({
  ...{ class_id: subclass, vendor_id: "0x10de", product_id: productId },
  ...(product === null ? {} : { product }),
});

const machine = ({ image = {}, ...more }: MachineRow = {}): SeenMachine => ({
  ...{ name: "gpu-1", address: "192.0.2.31", controlPlane: false, talosVersion: "v1.12.6" },
  image: {
    ...(image.own
      ? {}
      : {
          schematic: schematicOf({
            extensions: image.extensions ?? ["siderolabs/iscsi-tools"],
            kernelArgs: image.args ?? ["intel_iommu=on"],
          }).yaml,
        }),
    ...{ extensions: {}, configuredArgs: [], platform: "nocloud", secureBoot: true },
  },
  devices: [card("GB203 [GeForce RTX 5070 Ti]", "0x2c05"), { vendor_id: "0x8086", class_id: "0x03", product: "Iris" }],
  labels: {
    ...{ rack: "b2", "example.org/use": "ai" },
    ...{ "kubernetes.io/arch": "amd64", "nvidia.com/gpu.count": "1", "talos-gpu/power-limit": "250w" },
  },
  taints: ["gpu=true:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"],
  containerdPart: "",
  ...more,
});
const discovered = ({ machines = [{}], releases = [] }: NonNullable<Row["seen"]> = {}) =>
  stackOf({ machines: machines.map(machine), releases, unseen: [] });

test.each(having("seen"))(
  "%s",
  (_, { seen, stack = {}, machine: whole, comments = {}, commentsNot, findings = [] }) => {
    const made = discovered(seen);
    expectSaid(made.spec, stack);
    if (whole) expect(made.spec.machines["gpu-1"]).toEqual(whole);
    const all = Object.values(made.comments).flat().join("\n");
    for (const [field, pattern] of Object.entries(comments))
      expect(field === "" ? all : (made.comments[field] ?? []).join("\n")).toMatch(new RegExp(pattern));
    if (commentsNot) expect(all).not.toContain(commentsNot);
    expect(made.findings.map(({ check }) => check)).toEqual(findings);
  },
);

test.each(having("cards"))("cards: %s", (_, { cards, gpus, notes }) => {
  const found = cardsOf(cards!.map((one) => card(...one)));
  expect([found.gpus, found.notes.length]).toEqual([gpus, notes]);
});

test.each(having("workload"))("what offers GPUs: %s", (_, { workload, image, release }) => {
  const containers = [{ name: "main", image: image ?? "nvcr.io/nvidia/k8s-device-plugin:v0.17.1" }];
  const metadata = { namespace: "kube-system", ...workload };
  const found = releasesOf([{ metadata, spec: { selector: {}, template: { spec: { containers } } } }]);
  expect(found).toEqual(release === null ? [] : [release]);
});

test("labels' managers are read off the object's fields", () => {
  const fieldsV1 = { "f:metadata": { "f:labels": { ".": {}, "f:rack": {}, "f:example.org/use": {} } } };
  const managed = [{ manager: "Talos", fieldsV1 }, { manager: "kubelet" }, { manager: "kubectl-label", fieldsV1 }];
  const managers = ["Talos", "kubectl-label"];
  expect(labelManagers(managed)).toEqual({ rack: managers, "example.org/use": managers });
});

test("containerd's options are told by what they make", () => {
  const containerd = { nvidiaDefaultRuntime: true, baseRuntimeSpec: true, cdiSpecDirs: ["/var/cdi/static"] };
  const part = containerdPart(containerd, "legacy").toml!;
  const { spec } = discovered({ machines: [{ containerdPart: part }] });
  expect(spec.machines["gpu-1"]).toMatchObject({ containerd });
});

describe("containerd's options where Talos merges them without a file (Talos 1.14)", () => {
  const containerd = { nvidiaDefaultRuntime: true, cdiSpecDirs: ["/var/cdi/static"] };
  const part = containerdPart(containerd, "cdi").toml!;
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  /** As talos v1.14.1 merges (internal/pkg/toml/merge.go). */
  const merged = (customizations: Record<string, string>): string =>
    [
      `## file /etc/cri/conf.d/00-base.part (sha256:${"a".repeat(64)})`,
      ...Object.entries(customizations).map(
        ([name, text]) => `## in-memory customization "${name}" (sha256:${sha256(text)})`,
      ),
      "",
      "version = 3",
      '[plugins."io.containerd.cri.v1.runtime"]',
      'cdi_spec_dirs = ["/run/cdi", "/var/cdi/static"]',
      '[plugins."io.containerd.cri.v1.runtime".containerd]',
      'default_runtime_name = "nvidia"',
    ].join("\n");
  const seenWith = (customizations: Record<string, string>) => {
    const mergedContainerd = merged(customizations);
    const made = discovered({ machines: [{ talosVersion: "v1.14.1", containerdPart: "", mergedContainerd }] });
    return {
      containerd: made.spec.machines["gpu-1"]!.containerd,
      comments: made.comments["machines.gpu-1"]!.join("\n"),
    };
  };

  test("are looked for in the merged configuration as well", async () => {
    const whole = merged({ customization: part });
    const files: Record<string, string> = { "/etc/cri/conf.d/cri.toml": whole };
    const read = (path: string): Promise<string | undefined> => Promise.resolve(files[path]);
    expect(await lookAtContainerd({ read })).toEqual({ containerdPart: "", mergedContainerd: whole });
    files["/etc/cri/conf.d/cri.toml"] = merged({});
    expect(await lookAtContainerd({ read })).toEqual({ containerdPart: "" });
  });

  test("are those of the part that the stack would write", () => {
    const seen = seenWith({ customization: part });
    expect(seen.containerd).toEqual(containerd);
    expect(seen.comments).not.toContain("containerd");
  });

  test("are told with a comment where the part says more", () => {
    const seen = seenWith({ customization: `${part}\n[debug]\nlevel = "info"\n` });
    expect(seen.containerd).toEqual(containerd);
    expect(seen.comments).toContain("say all that it sets under containerd");
  });

  test("stay with the document that says them", () => {
    const seen = seenWith({ zz: part });
    expect(seen.containerd).toBeUndefined();
    expect(seen.comments).toContain("CRICustomizationConfig zz, which stays as it is");
  });
});

test("where nothing offers GPUs, the newest release that fits is proposed", () => {
  const { spec, comments, findings } = discovered();
  const [version] = semver.rsort(charts.filter(({ chart }) => chart === "gpu-operator").map((chart) => chart.version));
  expect([spec.gpuOperator, spec.devicePlugin, findings]).toEqual([{ version }, undefined, []]);
  expect(Object.values(comments).flat().join()).toContain("nothing offers GPUs yet");
});

test("the file says what is left in comments, and reads back as the stack", () => {
  const made = discovered(rows[0]![1].seen);
  const text = renderDiscovered(made, ["machine gpu-2 was not looked at"], "https://192.0.2.1:6443");
  const { config } = parse(text) as { config: Record<string, unknown> };
  expect(config["talos-gpu:machines"]).toEqual(made.spec.machines);
  expect(text).toContain("# - machine gpu-2 was not looked at");
  expect(text).toMatch(/# runs v1\.12\.6\n/);
  expect(text).toContain("helm -n gpu get values gpu-operator");
});

test.each([
  ["arm64", { "kubernetes.io/arch": "arm64" }, true],
  ["amd64", { "kubernetes.io/arch": "amd64" }, false],
])("a card in a slot of an %s machine: told of arm64.nobti: %j", (_, labels, isTold) => {
  const { comments } = discovered({ machines: [{ labels }] });
  expect((comments["machines.gpu-1"] ?? []).join().includes("arm64.nobti")).toBe(isTold);
});
