import { parseOptions, usage } from "../options";

test("of a word that an option does not have, it says those that it has", () => {
  expect(parseOptions(["--pulumi", "installed"])).toMatchObject({ pulumi: "installed", machines: "emulated" });
  expect(parseOptions([])).toMatchObject({ pulumi: "lab", machines: "emulated" });
  expect(() => parseOptions(["--pulumi", "real"])).toThrow(
    /^--pulumi: real is unknown, .*take lab, host or installed$/,
  );
});

test.each([
  ["--pulumi", "installed"],
  ["--pulumi", "host"],
])("nothing can be left out with %s %s: it would be left in, in silence", (...more) => {
  expect(() => parseOptions(["--without", "nodeSelector", ...more])).toThrow(/^--without: .*leaves nothing out/);
});

test("the help has every option that there is", () => {
  for (const option of ["--then FILE", "--pulumi host", "--machines real", "--may-change-the-card\n", "--help\n"])
    expect(usage()).toContain(`  ${option}`);
});
