import { bootErrorsOf, repeatedFilesOf } from "../../doctor/observe-machines";

test("files that a configuration has more than once, of the machine's own document", () => {
  const item = (path: string): string => `    - {path: ${path}, op: create, content: "x"}\n`;
  const machine = `machine:\n  files:\n${item("/var/a")}${item("/var/b")}${item("/var/a")}${item("/var/a")}`;
  const other = "apiVersion: v1alpha1\nkind: HostnameConfig\n";
  expect(repeatedFilesOf(`${machine}---\n${other}`)).toEqual(["/var/a"]);
  expect(repeatedFilesOf("machine: {}\n")).toEqual([]);
  expect(repeatedFilesOf(undefined)).toEqual([]);
});

test("lines of a kernel log that say why the boot does not go on, each once, without keys", () => {
  const failed =
    "10.0.0.2: user: warning: [talos] writeUserFiles failed, rebooting in 35 minutes. You can use talosctl apply-config or talosctl edit mc to fix the issues, error:";
  const conflict =
    "\t* resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists";
  const log = [
    "kern: info: Linux version 6.18",
    failed,
    "1 error occurred:",
    conflict,
    failed,
    "token: abcdef.0123456789",
  ];
  expect(bootErrorsOf(log.join("\n"))).toEqual([failed, conflict.trim()]);
});
