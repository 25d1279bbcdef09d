import * as fs from "node:fs";
import * as path from "node:path";
import {
  checks,
  findingsOf,
  InvalidStackError,
  judge,
  renderFinding,
  type ClusterSpec,
  type Finding,
} from "../../../components/recipe/index";
import { differences } from "../differences";
import { oneMachine, invalidStacks, validStack, validStacks } from "../stacks";

const invalid = invalidStacks();
const rows = invalid.map((row) => [row.name, row] as const);

describe("stacks with a mistake", () => {
  test.each(rows)("%s: says exactly what is wrong", (_, { stack, expect: expected }) => {
    const findings = findingsOf(stack);
    const placed = ({ check, field }: Finding): string => `${check} ${field}`;
    expect(findings.map(placed).sort()).toEqual(Object.keys(expected).sort());
    for (const [place, parts] of Object.entries(expected)) {
      const said = findings.filter((finding) => placed(finding) === place).map(renderFinding);
      for (const part of parts) expect(said.join("\n")).toContain(part);
    }
  });

  test.each(rows)("%s: is a stack that is right, but for its mistake", (_, { base, stack, expect: expected }) => {
    expect(Object.keys(expected)).not.toEqual([]);
    expect(findingsOf(validStack(base))).toEqual([]);
    const changed = differences(validStack(base), stack);
    expect(changed.length).toBeGreaterThan(0);
    // One mistake is a field or few, not another system.
    expect(changed.length).toBeLessThanOrEqual(6);
  });

  test("there is one for every check, each with a name of its own", () => {
    const shown = new Set(invalid.flatMap((row) => Object.keys(row.expect).map((place) => place.split(" ")[0]!)));
    expect(checks.map((check) => check.id).filter((id) => !shown.has(id))).toEqual([]);
    expect(new Set(invalid.map(({ name }) => name)).size).toBe(invalid.length);
  });

  test("each says what, why and how, without a full stop", () => {
    for (const finding of invalid.flatMap(({ stack }) => findingsOf(stack))) {
      for (const part of ["problem", "why", "remedy"] as const) {
        expect(finding[part]).toMatch(/\S/);
        expect(finding[part]).not.toMatch(/[.;]$/);
      }
    }
  });
});

describe("stacks that are right", () => {
  test.each(validStacks())("%s: nothing is found", (name) => {
    const { findings, plan } = judge(validStack(name));
    expect(findings).toEqual([]);
    expect(plan!.spec).toEqual(validStack(name));
  });
});

/** What real people run, and was refused. */
describe("stacks of real people", () => {
  const plugin = (values: Record<string, unknown>): Partial<ClusterSpec> => ({
    gpuOperator: undefined as never,
    devicePlugin: { version: "0.19.3", values },
  });
  const slices = (more = ""): string =>
    `version: v1\nsharing: {timeSlicing: {${more}resources: [{name: nvidia.com/gpu, replicas: 6}]}}\n`;
  const pod = { image: "nvidia/cuda:12.9.1-base-ubuntu24.04" };
  const pods = { workloads: { pods: { a: pod, b: pod, c: pod } } };
  const one = { gpus: [{ model: "RTX 3090" }] };
  const worker = { role: "worker", configuration: "adopted" } as const;

  test.each<[string, ClusterSpec]>([
    [
      "slices of an own configuration",
      oneMachine("v1.13.9", one, { ...plugin({ config: { map: { a: slices() } } }), ...pods }),
    ],
    [
      "three slices for one pod",
      oneMachine("v1.13.9", one, {
        ...plugin({ config: { map: { default: slices() } } }),
        workloads: { pods: { a: { ...pod, gpus: 3 } } },
      }),
    ],
    [
      "a configuration that the stack does not hold",
      oneMachine("v1.13.9", one, { ...plugin({ config: { name: "mine" } }), ...pods }),
    ],
    [
      "the operator's",
      oneMachine("v1.13.9", one, {
        gpuOperator: { version: "v26.3.3", values: { devicePlugin: { config: { name: "mine", default: "any" } } } },
        ...pods,
      }),
    ],
    ...[{}, { gpuOperator: undefined as never, external: { kind: "devicePlugin" as const } }].map(
      (exposure): [string, ClusterSpec] => [
        "vLLM on two cards, beside a machine with one old card",
        oneMachine("v1.12.6", one, {
          ...exposure,
          machines: {
            big: { ...worker, address: "10.0.0.1", gpus: [{ model: "RTX 3090", count: 2 }] },
            small: { ...worker, address: "10.0.0.2", gpus: [{ model: "GTX 1050 Ti" }] },
          },
          driver: { flavour: "proprietary" },
          workloads: { vllm: { model: "Qwen/Qwen2.5-7B-Instruct", gpus: 2 } },
        }),
      ],
    ),
    [
      "cards that somebody else's driver gives to claims",
      oneMachine("v1.13.9", one, { gpuOperator: undefined as never, external: { kind: "dra" } }),
    ],
    ...["A800", "NVIDIA H100 96GB HBM3", "DGX Spark GB10", "Tesla PG500-216"].map((model): [string, ClusterSpec] => [
      model,
      oneMachine("v1.13.9", { gpus: [{ model }] }),
    ]),
  ])("%s: nothing is found", (_, { gpuOperator, ...spec }) =>
    expect(findingsOf(gpuOperator === undefined ? spec : { gpuOperator, ...spec })).toEqual([]),
  );

  test("several slices for one pod, where their configuration refuses that", () => {
    const values = { config: { map: { default: slices("failRequestsGreaterThanOne: true, ") } } };
    const { gpuOperator: _, ...spec } = oneMachine("v1.13.9", one, {
      ...plugin(values),
      workloads: { pods: { a: { ...pod, gpus: 3 } } },
    });
    expect(findingsOf(spec).map(({ check }) => check)).toEqual(["sharing-requests"]);
  });

  test("an item of machine.files that is deleted is not one that is written", () => {
    const patch = "machine: {files: [{path: /etc/cri/conf.d/20-customization.part, $patch: delete}]}\n";
    expect(findingsOf(oneMachine("v1.13.9", { ...one, patches: [patch] })).map(({ check }) => check)).toEqual([
      "patch-delete",
    ]);
  });
});

describe("checks", () => {
  test("are those of the files beside the list, each in the list", () => {
    const folder = path.join(__dirname, "../../../components/recipe/checks");
    const written = fs
      .readdirSync(folder)
      .flatMap((file) => [...fs.readFileSync(path.join(folder, file), "utf8").matchAll(/^ +id: "(.*)",$/gm)]);
    expect(checks.map(({ id }) => id).sort()).toEqual(written.map(([, id]) => id).sort());
  });

  test("have names of their own and a source", () => {
    expect(new Set(checks.map((check) => check.id)).size).toBe(checks.length);
    for (const check of checks) expect(check.source).toMatch(/\S/);
  });
});

describe("a stack that is wrong", () => {
  const invalid = {
    ...validStack("modern"),
    gpuOperator: { version: "v26.3.0", values: { toolkit: { enabled: "no" } } },
    nonsense: true,
  };

  test("lists everything in one error, numbered", () => {
    const { findings, plan } = judge(invalid);
    expect(plan).toBeUndefined(); // its shape is wrong, too
    expect(findings.map((finding) => finding.check)).toEqual(["shape", "operator-version", "chart-values"]);
    const { message } = new InvalidStackError(findings);
    findings.forEach((finding: Finding, index) =>
      expect(message).toContain(
        `${index + 1}. ${finding.field}: ${finding.problem}; ${finding.why}; ${finding.remedy}`,
      ),
    );
    expect(message).toContain("3 mistakes");
    const [first] = findings;
    expect(new InvalidStackError([first!]).message).toMatch(/^the stack has a mistake; nothing was contacted:\n1\. /);
  });

  test.each([null, undefined, 1, "text", [], {}, { machines: [] }, { talosVersion: "v1.12.6", machines: { a: null } }])(
    "%j: is a finding, not a crash",
    (raw) => {
      const { findings, plan } = judge(raw);
      expect(findings.length).toBeGreaterThan(0);
      expect(plan).toBeUndefined();
    },
  );
});
