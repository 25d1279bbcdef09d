import { execFileSync } from "node:child_process";
import { ownProgramInstructions } from "../run/own-program";
import { parseOptions, usage, accessInstructions } from "../options";

test("--pulumi is lab by default, and the error for an unknown value lists the known ones", () => {
  expect(parseOptions(["--pulumi", "installed"])).toMatchObject({
    pulumi: "installed",
    machines: "emulated",
  });
  expect(parseOptions([])).toMatchObject({ pulumi: "lab", machines: "emulated" });
  expect(() => parseOptions(["--pulumi", "real"])).toThrow(
    /^--pulumi: real is not a known value; write lab, host, installed or own$/,
  );
});

test.each([
  ["--pulumi", "installed"],
  ["--pulumi", "host"],
])("--without is refused together with %s %s", (...otherOption) => {
  expect(() => parseOptions(["--without", "nodeSelector", ...otherOption])).toThrow(
    /^--without: .*cannot leave out a fix/,
  );
});

test("--pulumi without a value requires --keep, and --program requires both", () => {
  expect(parseOptions(["--keep", "--pulumi"])).toMatchObject({ pulumi: "own", keep: true });
  expect(parseOptions(["--pulumi", "--keep"])).toMatchObject({ pulumi: "own", keep: true });
  expect(() => parseOptions(["--pulumi"])).toThrow(/^--pulumi: .*; add --keep$/);
  expect(() => parseOptions(["--keep", "--program", "x"])).toThrow(/^--program: /);
});

test("the help lists options with their values", () => {
  for (const option of [
    "--then FILE",
    "--pulumi host",
    "--machines real",
    "--may-change-the-card\n",
    "--help\n",
  ])
    expect(usage()).toContain(`  ${option}`);
});

test("an option that npm took is reported with the right command", () => {
  const environment = { npm_lifecycle_event: "lab", npm_config_stack: "true" };
  expect(() => parseOptions(["frank"], environment)).toThrow(
    /write `npm run lab -- --stack frank`$/,
  );
});

test("for the user's own program, each variable is printed as a line for a shell", () => {
  const environment = { PATH: "/lab/bin:/usr/bin", KUBECONFIG: "/lab/it's here", A: "b:1,c:2" };
  const help = ownProgramInstructions(environment, {
    folder: "/home/me/my program",
    secrets: "/lab/secrets.yaml",
    inherited: "/usr/bin",
  });
  const script = `${help.match(/^ {2}export .*$/gm)!.join("\n")}\nenv`;
  const env = execFileSync("/bin/sh", ["-c", script], {
    encoding: "utf8",
    env: { PATH: "/usr/bin" },
  });
  for (const [name, value] of Object.entries(environment))
    expect(env).toContain(`${name}=${value}\n`);
  expect(help).toContain("cd '/home/me/my program'\n");
  expect(help).toContain('pulumi config set --secret kubeconfig < "$KUBECONFIG"\n');
  expect(help).toContain("machineSecrets < /lab/secrets.yaml\n");
});

test("a kept lab prints all variables that the doctor needs", () => {
  const access = {
    kubeconfig: "/lab/kubeconfig",
    talosconfig: "/lab/talosconfig",
    talosctl: "/tools/talosctl",
  };
  expect(accessInstructions(access).match(/export .*/g)).toEqual([
    "export KUBECONFIG=/lab/kubeconfig",
    "export TALOSCONFIG=/lab/talosconfig",
    "export TALOS_GPU_TALOSCTL=/tools/talosctl",
  ]);
});
