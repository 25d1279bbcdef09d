import { renderReport, reportOf } from "../../../cli/doctor/report";
import type { Difference } from "../../../components/diagnosis";
import type { System } from "../../../components/diagnosis/system";
import { unsafeParts, hostileName } from "../hostile";

const system: System = {
  injection: "cdi",
  mode: "devicePlugin",
  namespace: "gpu",
  gpuMachines: [{ name: "gpu-1" }],
  runtimeClass: { name: "nvidia", owner: "component" },
  nodeSelector: {},
};
const {
  injection: _injection,
  mode: _mode,
  namespace: _namespace,
  ...unknownSystem
} = { ...system, gpuMachines: [] };

type ReportInput = Parameters<typeof reportOf>[0];

const lines = (input: Partial<ReportInput>): string[] =>
  renderReport(
    reportOf({
      system,
      planned: true,
      differences: [],
      findings: [],
      unseen: [],
      notes: [],
      inventory: [],
      ...input,
    }),
    false,
  ).split("\n");

test("for a cluster that is down, the report says only that it could not be read", () => {
  expect(
    lines({ system: unknownSystem, unseen: ["Kubernetes could not be read: refused"] }),
  ).toEqual(["? could not read: Kubernetes could not be read: refused", "1 not read"]);
});

test("for a healthy cluster, the report lists its GPUs", () => {
  const inventory = ["gpu-1: RTX 3060, driver 595.71.05, 4 × nvidia.com/gpu"];
  expect(lines({ inventory })).toEqual([
    "GPU machines: gpu-1; GPU provider devicePlugin in gpu; CDI specification from Talos' extension",
    "    gpu-1: RTX 3060, driver 595.71.05, 4 × nvidia.com/gpu",
    "✔ nothing found: no fault and no difference",
  ]);
});

test("the report advises no update of the stack for a difference with a remedy", () => {
  const cordoned: Difference = {
    about: "node gpu-1",
    problem: "is cordoned",
    remedy: "kubectl uncordon gpu-1",
  };
  const unready: Difference = { about: "DaemonSet gpu/x", problem: "not ready" };
  expect(lines({ differences: [cordoned] }).slice(1)).toEqual([
    "✖ differs from the plan: node gpu-1: is cordoned",
    "    remedy: kubectl uncordon gpu-1",
    "1 wrong",
  ]);
  expect(lines({ differences: [cordoned, unready] })).toContainEqual(
    expect.stringMatching(/has no remedy above: change the text of reconcileToken/),
  );
});

test("hostile texts of a cluster cannot control the terminal or add a line to the report", () => {
  const input = {
    differences: [
      {
        about: `Pod/${hostileName}`,
        problem: hostileName,
        lastWords: [hostileName],
        remedy: hostileName,
      },
    ],
    unseen: [hostileName],
    notes: [hostileName],
    inventory: [hostileName],
    findings: [],
  };
  expect(unsafeParts(lines(input).join("\n"))).toEqual([]);
  const report = reportOf({
    system: { ...system, namespace: hostileName },
    planned: true,
    ...input,
  });
  const coloured = renderReport(report, true);
  expect(coloured).toContain("\u001b[31m✖ differs from the plan:\u001b[39m");
  // eslint-disable-next-line no-control-regex -- the report's own colours
  expect(unsafeParts(coloured.replaceAll(/\u001b\[\d+m/g, ""))).toEqual([]);
});
