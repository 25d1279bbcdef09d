import {
  planCluster,
  type ClusterSpec,
  type ReleaseRecipe,
} from "../../../components/recipe/index";
import {
  releasesToCheckWith,
  checkValues,
  chartValueFindings,
  type ChartName,
} from "../../../components/recipe/facts/chart";
import { charts } from "../../../components/recipe/facts/data/charts";
import { stackOfOneMachine, validStack, validStackNames } from "../stacks";

/** The path and the kind of each finding on a chart's values. */
const pathsAndKinds = (
  name: ChartName,
  version: string,
  values: Record<string, unknown>,
): [string, string][] => {
  const [chart] = releasesToCheckWith(name, version);
  if (!chart) throw new Error(version);
  return chartValueFindings(chart, values).map(({ path, kind }) => [path, kind]);
};

/** Releases of the operator in the tables. */
const operatorVersions = charts
  .filter(({ chart }) => chart === "gpu-operator")
  .map(({ version }) => `v${version}`);

test.each([
  ["gpu-operator", "v25.10.1", ["25.10.1"]],
  ["gpu-operator", "25.10.0", ["25.3.4", "25.10.1"]],
  ["gpu-operator", "v24.9.0", ["25.3.4"]],
  ["gpu-operator", "v26.3.3", ["26.3.3"]],
  ["gpu-operator", "v26.3.2", ["26.3.1", "26.3.3"]],
  ["gpu-operator", "v99.1.0", [operatorVersions.at(-1)!.slice(1)]],
  ["gpu-operator", "latest", []],
  ["nvidia-device-plugin", "0.14.0", ["0.17.4"]],
  ["nvidia-device-plugin", "0.17.4", ["0.17.4"]],
  ["nvidia-device-plugin", "v0.18.0", ["0.17.4", "0.18.2"]],
] satisfies [ChartName, string, string[]][])(
  "the values of %s %s are checked by the tables of %j",
  (name, version, tableVersions) =>
    expect(releasesToCheckWith(name, version).map((chart) => chart.version)).toEqual(tableVersions),
);

describe("for a chart release that is older or newer than the tables, checkValues", () => {
  /** The findings on values, and the values that no table can check. */
  const checkByTables = (name: ChartName, version: string, values: Record<string, unknown>) => {
    const { findings: wrong, uncheckable } = checkValues(name, version, values);
    return { wrong: wrong.map(({ path, kind }) => `${path}: ${kind}`), uncheckable };
  };

  test("accepts values that the nearest release of the tables lacks", () => {
    expect(
      checkByTables("gpu-operator", "v24.9.2", { operator: { defaultRuntime: "containerd" } }),
    ).toEqual({
      wrong: [],
      uncheckable: ["operator.defaultRuntime"],
    });
    expect(
      checkByTables("nvidia-device-plugin", "0.14.5", { legacyDaemonsetAPI: true }).wrong,
    ).toEqual([]);
  });

  test.each(["v0.0.1", "v99.9.0"])(
    "refuses a misspelt value, a wrong type, and a value that no release has: %s",
    (version) => {
      const values = {
        cdi: { enabled: "false" },
        driver: { enabeld: false },
        toolkt: {},
        dcgmExporter: { nodeSelector: {} },
        mig: { Strategy: "single" },
      };
      expect(checkByTables("gpu-operator", version, values)).toEqual({
        wrong: [
          "cdi.enabled: boolean",
          "driver.enabeld: unknown",
          "toolkt: unknown",
          "dcgmExporter.nodeSelector: unknown",
          "mig.Strategy: unknown",
        ],
        uncheckable: [],
      });
    },
  );

  test("accepts every value of the right type that any release in the tables of any chart has", () => {
    const valuesByType: Record<string, unknown> = {
      boolean: true,
      string: "text",
      number: 1,
      array: [],
      object: {},
      any: null,
    };
    for (const { chart, paths } of charts)
      for (const [path, type] of Object.entries(paths)) {
        const [firstKey, ...innerKeys] = path.split(".") as [string, ...string[]];
        const values = {
          [firstKey]: innerKeys.reduceRight<unknown>(
            (value, key) => ({ [key]: value }),
            valuesByType[type],
          ),
        };
        for (const version of ["0.0.1", "99.0.0"])
          expect({ path, wrong: checkByTables(chart as ChartName, version, values).wrong }).toEqual(
            {
              path,
              wrong: [],
            },
          );
      }
  });
});

describe("values that have no effect", () => {
  const selector = { nodeSelector: { a: "b" } };
  test.each(operatorVersions)(
    "in gpu-operator %s, the nodeSelector of each operand counts as unknown",
    (version) => {
      const values = {
        devicePlugin: selector,
        toolkit: selector,
        driver: selector,
        dcgmExporter: selector,
        gfd: selector,
        migManager: selector,
        validator: selector,
        daemonsets: selector,
      };
      expect(pathsAndKinds("gpu-operator", version, values)).toEqual(
        Object.keys(values).map((key) => [`${key}.nodeSelector`, "unknown"]),
      );
    },
  );

  test("a value is refused before the release that added it", () => {
    expect(pathsAndKinds("nvidia-device-plugin", "0.17.4", { gdrcopyEnabled: false })).toEqual([
      ["gdrcopyEnabled", "unknown"],
    ]);
    expect(pathsAndKinds("nvidia-device-plugin", "0.18.2", { gdrcopyEnabled: false })).toEqual([]);
    expect(pathsAndKinds("lws", "0.9.0", { priorityClassName: "high" })).toEqual([
      ["priorityClassName", "unknown"],
    ]);
    expect(pathsAndKinds("lws", "0.10.0", { priorityClassName: "high" })).toEqual([]);
  });
});

test("values that a chart's templates use are accepted", () => {
  expect(
    pathsAndKinds("gpu-operator", "v25.10.1", {
      operator: { nodeSelector: { a: "b" }, affinity: { podAffinity: {} }, labels: { a: "b" } },
      driver: { enabled: false, upgradePolicy: { drain: { enable: true } } },
      daemonsets: { tolerations: [], labels: { any: "thing" } },
      validator: {
        driver: { env: [] },
        cuda: { env: [{ name: "WITH_WORKLOAD", value: "false" }] },
      },
      dcgmExporter: { config: { name: "x" }, serviceMonitor: { enabled: true, interval: "30s" } },
      "node-feature-discovery": {
        worker: { config: { anything: { goes: true } } },
        gc: { enable: false },
      },
      global: { a: 1 },
    }),
  ).toEqual([]);
  expect(
    pathsAndKinds("nvidia-device-plugin", "0.17.4", {
      affinity: null,
      runtimeClassName: "nvidia",
      nodeSelector: { a: "b" },
      nfd: { enabled: false, worker: { mountUsrSrc: true } },
      updateStrategy: { type: "OnDelete" },
    }),
  ).toEqual([]);
});

test("misspelt values of Node Feature Discovery are refused, which both charts include", () => {
  expect(
    pathsAndKinds("gpu-operator", "v25.10.1", {
      "node-feature-discovery": { enabled: true, worker: { x: 1, enable: "no" } },
    }),
  ).toEqual([
    ["node-feature-discovery.enabled", "unknown"],
    ["node-feature-discovery.worker.x", "unknown"],
    ["node-feature-discovery.worker.enable", "boolean"],
  ]);
  expect(pathsAndKinds("nvidia-device-plugin", "0.17.4", { nfd: [] })).toEqual([["nfd", "object"]]);
});

test("values of the wrong type are refused", () => {
  expect(
    pathsAndKinds("gpu-operator", "v26.3.3", {
      cdi: { enabled: "false" },
      daemonsets: { tolerations: {} },
      driver: true,
    }),
  ).toEqual([
    ["cdi.enabled", "boolean"],
    ["daemonsets.tolerations", "array"],
    ["driver", "object"],
  ]);
});

test("the table of every chart release has many values, each with a known type", () => {
  for (const chart of charts) {
    expect(Object.keys(chart.paths).length).toBeGreaterThan(chart.chart === "lws" ? 20 : 40);
    for (const type of Object.values(chart.paths))
      expect(["boolean", "string", "number", "array", "object", "any"]).toContain(type);
  }
});

const releaseOf = (spec: ClusterSpec): ReleaseRecipe => planCluster(spec).kubernetes.release;
const gpu = { gpus: [{ model: "H100 NVL", count: 2 }] };

test.each(validStackNames())(
  "the chart's tables have every value that the plan of %s sets",
  (name) => {
    const { chart, version, values } = releaseOf(validStack(name));
    expect(pathsAndKinds(chart as "gpu-operator", version, values)).toEqual([]);
  },
);

test("every operator release has the values that plans for Talos 1.12 and 1.13 set", () => {
  for (const version of operatorVersions) {
    for (const talosVersion of ["v1.12.6", "v1.13.9"]) {
      const { values } = releaseOf(
        stackOfOneMachine(talosVersion, gpu, {
          gpuOperator: { version },
          sharing: {
            timeSlicing: { replicas: 2 },
            mig: { strategy: "single", profile: "1g.12gb" },
          },
        }),
      );
      expect(pathsAndKinds("gpu-operator", version, values)).toEqual([]);
    }
  }
});
