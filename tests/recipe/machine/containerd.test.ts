import fc from "fast-check";
import { parse } from "smol-toml";
import { containerdPart } from "../../../components/recipe/machine/containerd/containerd";

const runtime = "io.containerd.cri.v1.runtime";

test("a machine without containerd settings gets no containerd part", () => {
  expect(containerdPart(undefined, "legacy")).toEqual({ conflicts: [] });
  expect(containerdPart({ nvidiaDefaultRuntime: false, extra: "" }, "legacy")).toEqual({
    conflicts: [],
  });
});

test("all containerd options are written into one part", () => {
  const { toml, conflicts } = containerdPart(
    {
      nvidiaDefaultRuntime: true,
      baseRuntimeSpec: true,
      cdiSpecDirs: ["/var/cdi/static"],
      extra: `[plugins."io.containerd.cri.v1.images"]\nmax_concurrent_downloads = 5\n`,
    },
    "legacy",
  );
  expect(conflicts).toEqual([]);
  expect(parse(toml ?? "")).toEqual({
    plugins: {
      [runtime]: {
        // Without containerd's own folders, the devices of the plugin's own specification would be missing.
        cdi_spec_dirs: ["/etc/cdi", "/var/run/cdi", "/var/cdi/static"],
        containerd: {
          default_runtime_name: "nvidia",
          runtimes: { nvidia: { base_runtime_spec: "/etc/cri/conf.d/base-spec.json" } },
        },
      },
      "io.containerd.cri.v1.images": { max_concurrent_downloads: 5 },
    },
  });
});

test("from Talos 1.13 on, the containerd part has only the stack's CDI directories", () => {
  expect(parse(containerdPart({ cdiSpecDirs: ["/var/cdi/static"] }, "cdi").toml ?? "")).toEqual({
    plugins: { [runtime]: { cdi_spec_dirs: ["/var/cdi/static"] } },
  });
});

test("the containerd part never sets version", () => {
  expect(containerdPart({ extra: "version = 2\n" }, "legacy").toml).toBeUndefined();
  expect(
    containerdPart({ extra: "version = 2\n[debug]\nlevel = 'info'\n" }, "legacy").toml,
  ).not.toContain("version");
});

test("extra that conflicts with an option, or is no TOML, is reported", () => {
  const extra = `[plugins."${runtime}".containerd]\ndefault_runtime_name = "runc"\n`;
  expect(containerdPart({ nvidiaDefaultRuntime: true, extra }, "legacy").conflicts).toEqual([
    `plugins.${runtime}.containerd.default_runtime_name`,
  ]);
  expect(containerdPart({ extra: "[plugins" }, "legacy").error).toContain(
    "cannot find end of key (line 1)",
  );
});

test("with any options, the containerd part is valid TOML and contains all of them", () => {
  const dirs = fc.uniqueArray(fc.constantFrom("/a", "/b", "/c"));
  fc.assert(
    fc.property(
      fc.record({
        nvidiaDefaultRuntime: fc.boolean(),
        baseRuntimeSpec: fc.boolean(),
        cdiSpecDirs: dirs,
      }),
      fc.constantFrom("legacy" as const, "cdi" as const),
      (spec, injection) => {
        const table: any = parse(containerdPart(spec, injection).toml ?? "");
        const settings = table.plugins?.[runtime];
        expect(settings?.containerd?.default_runtime_name).toBe(
          spec.nvidiaDefaultRuntime ? "nvidia" : undefined,
        );
        expect(settings?.containerd?.runtimes?.nvidia?.base_runtime_spec !== undefined).toBe(
          spec.baseRuntimeSpec,
        );
        for (const dir of spec.cdiSpecDirs) expect(settings?.cdi_spec_dirs).toContain(dir);
      },
    ),
  );
});
