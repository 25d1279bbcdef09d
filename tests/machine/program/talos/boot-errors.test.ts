import { bootErrorsOf } from "../../../../components/machine/program/talos/boot-errors";

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
