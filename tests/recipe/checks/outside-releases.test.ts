import { type ExternalReadSpec, judge } from "../../../components/recipe";
import { validStack } from "../stacks";

const { devicePlugin: _plugin, ...pluginOn113 } = validStack("plugin-on-1.13");
const nvidiaByDefault = (read: ExternalReadSpec) => {
  const [[name, machine]] = Object.entries(pluginOn113.machines) as [[string, object]];
  const machines = {
    ...pluginOn113.machines,
    [name]: { ...machine, containerd: { nvidiaDefaultRuntime: true } },
  };
  return judge({ ...pluginOn113, machines, external: { read } }).findings.map(({ check }) => check);
};

test("on Talos 1.13, the default runtime nvidia is accepted only with an external plugin older than 0.17.4", () => {
  const values = { runtimeClassName: "nvidia" };
  expect(nvidiaByDefault({ kind: "devicePlugin", version: "0.17.1", values })).toEqual([]);
  expect(nvidiaByDefault({ kind: "devicePlugin", version: "0.17.4", values })).toEqual([
    "default-runtime",
  ]);
});

test("NVIDIA's former chart of the DRA driver is accepted only in an external release", () => {
  const { gpuOperator: _operator, workloads: _workloads, ...rest } = validStack("rtx5070ti");
  const values = { nvidiaDriverRoot: "/usr/local", gpuResourcesEnabledOverride: true };
  const version = "25.8.0";
  expect(judge({ ...rest, external: { kind: "dra", version, values } }).findings).toEqual([]);
  expect(judge({ ...rest, dra: { version } }).findings.map(({ field }) => field)).toContain(
    "dra.version",
  );
});
