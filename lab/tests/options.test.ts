import { parseOptions, usage, waysIn } from "../options";

test("of a word that an option does not have, it says those that it has", () => {
  expect(parseOptions(["--pulumi", "installed"])).toMatchObject({
    pulumi: "installed",
    machines: "emulated",
  });
  expect(parseOptions([])).toMatchObject({ pulumi: "lab", machines: "emulated" });
  expect(() => parseOptions(["--pulumi", "real"])).toThrow(
    /^--pulumi: real is unknown, .*take lab, host or installed$/,
  );
});

test.each([
  ["--pulumi", "installed"],
  ["--pulumi", "host"],
])("nothing can be left out with %s %s: it would be left in, in silence", (...more) => {
  expect(() => parseOptions(["--without", "nodeSelector", ...more])).toThrow(
    /^--without: .*leaves nothing out/,
  );
});

test("the help has every option that there is", () => {
  for (const option of [
    "--then FILE",
    "--pulumi host",
    "--machines real",
    "--may-change-the-card\n",
    "--help\n",
  ])
    expect(usage()).toContain(`  ${option}`);
});

test("an option that npm took for its own is told, with how to write it", () => {
  const environment = { npm_lifecycle_event: "lab", npm_config_stack: "true" };
  expect(() => parseOptions(["frank"], environment)).toThrow(
    /write `npm run lab -- --stack frank`$/,
  );
});

test("a kept lab says all that the doctor needs", () => {
  const ways = {
    kubeconfig: "/lab/kubeconfig",
    talosconfig: "/lab/talosconfig",
    talosctl: "/tools/talosctl",
  };
  expect(waysIn(ways).match(/export .*/g)).toEqual([
    "export KUBECONFIG=/lab/kubeconfig",
    "export TALOSCONFIG=/lab/talosconfig",
    "export TALOS_GPU_TALOSCTL=/tools/talosctl",
  ]);
});
