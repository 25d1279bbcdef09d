import {
  bootErrorsOf,
  consoleLines,
  driverErrors,
  linesSince,
  pullErrorOf,
  waitingImageOf,
} from "../../../components/clients/talos/console";

const consoleLine = (text: string): string =>
  `10.0.0.2: user: warning: [2026-11-25T05:10:11.123456789Z]: [talos] ${text}`;

test("errors of a stopped boot are read from the console once each, without prefixes and secrets", () => {
  /** A further line of the same message has no tag. */
  const continuationLine = (text: string): string => consoleLine(text).replace("[talos] ", "");
  const bootFailure =
    "task writeUserFiles (1/1): writeUserFiles failed, rebooting in 35 minutes. You can use talosctl apply-config or talosctl edit mc to fix the issues, error:";
  const conflict =
    " * resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists";
  const log = [
    "10.0.0.2: kern:    info: [2026-11-25T05:10:01Z]: Linux version 6.18",
    consoleLine(bootFailure),
    continuationLine("1 error occurred:"),
    continuationLine(conflict),
    continuationLine(""),
    consoleLine(bootFailure),
    continuationLine('create operation not allowed outside of /var: "/etc/lab.conf"'),
    "token: abcdef.0123456789",
  ];
  const lines = consoleLines(log.join("\n"));
  expect(bootErrorsOf(lines)).toEqual([
    bootFailure,
    conflict.trim(),
    'create operation not allowed outside of /var: "/etc/lab.conf"',
  ]);
  expect(lines).toContain("Linux version 6.18");
  expect(lines.join()).not.toContain("abcdef");
});

test("a kubelet that fails at every start is reported with its last error", () => {
  // Talos v1.13.0 printed this for an image without the runtime that containerd uses by default.
  const kubeletFailure =
    'service[kubelet](Waiting): Error running Containerd(kubelet), going to restart forever: task "kubelet" failed: exit code 1 (last log "{\\"ts\\":1.5,\\"msg\\":\\"Starting controller\\"}\\n{\\"ts\\":1.6,\\"msg\\":\\"command failed\\",\\"err\\":\\"failed to run Kubelet: validate CRI v1 runtime API for endpoint \\\\\\"unix:///run/containerd/containerd.sock\\\\\\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService\\"}")';
  const errorsOf = (...lines: string[]) =>
    bootErrorsOf(consoleLines(lines.map(consoleLine).join("\n")));
  const fourFailures = Array.from({ length: 4 }, () => kubeletFailure);
  const kubeletIsHealthy = "service[kubelet](Running): Health check successful";
  expect(errorsOf(...fourFailures)).toEqual([]);
  expect(errorsOf(kubeletIsHealthy, ...fourFailures, kubeletFailure)).toEqual([]); // the kubelet has started pods in this boot
  expect(
    errorsOf(
      ...fourFailures,
      "service[kubelet](Running): Started task kubelet (PID 1)",
      kubeletFailure,
    ),
  ).toEqual([
    'the kubelet fails at every start (failed to run Kubelet: validate CRI v1 runtime API for endpoint "unix:///run/containerd/containerd.sock": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService), and Talos waits 70 minutes for the kubelet',
  ]);
  expect(errorsOf(...fourFailures, kubeletFailure.slice(0, 200))[0]).toContain(
    "going to restart forever",
  );
});

describe("the image that boots next, as the console shows it,", () => {
  const firstImage = "factory.talos.dev/metal-installer/1:v1.13.0";
  const secondImage = "factory.talos.dev/metal-installer/2:v1.13.0";
  // The texts of v1.13.0 and v1.13.9, and of v1.14.0 (internal/app/lifecycle/lifecycle.go).
  const upgradeBegins = (image: string) =>
    `starting upgrade: installer_image=${image}, disk=/dev/vda`;
  const installerEnds = (code: number) =>
    `upgrade ${code === 0 ? "completed successfully" : "failed"}: exit_code=${code}`;
  const linesOfTalos114 = (image: string) => [
    `starting upgrade {"service": "lifecycle", "installer_image": "${image}", "disk": "/dev/vda"}`,
    'upgrade completed {"service": "lifecycle", "exit_code": 0}',
  ];
  test.each<[string, string[], string | undefined]>([
    ["is unknown if nothing was installed", ["task upgrade (1/1): starting"], undefined],
    ["is unknown while the first one is being installed", [upgradeBegins(firstImage)], undefined],
    [
      "is unknown if the installer failed",
      [upgradeBegins(firstImage), installerEnds(1)],
      undefined,
    ],
    [
      "is the installed one even if the caller disconnected",
      [upgradeBegins(firstImage), "error streaming output: context canceled", installerEnds(0)],
      firstImage,
    ],
    [
      "is the one that was installed last",
      [upgradeBegins(firstImage), installerEnds(0), upgradeBegins(secondImage), installerEnds(0)],
      secondImage,
    ],
    [
      "stays the same while another one is being installed",
      [upgradeBegins(firstImage), installerEnds(0), upgradeBegins(secondImage)],
      firstImage,
    ],
    ["is read from the fields that Talos 1.14 prints", linesOfTalos114(secondImage), secondImage],
  ])("%s", (_, lines, image) =>
    expect(waitingImageOf(consoleLines(lines.map(consoleLine).join("\n")))).toBe(image),
  );
});

test("lines of machined's log lose node, time and coloured level", () =>
  expect(
    consoleLines(
      '10.0.2.15: 2026-11-29T19:40:00.123Z \u001b[34mINFO\u001b[0m upgrade completed {"exit_code": 0}\n' +
        "2026-11-29T19:40:00.123Z DEBUG pulling\n",
    ),
  ).toEqual(['upgrade completed {"exit_code": 0}', "pulling"]));

test("the reason of a failed pull is the image's last error that is no cancellation", () => {
  const image = "10.0.2.2:5000/metal-installer/1:v1.13.0";
  const refusedPull = `retrying error: failed to pull image "${image}": dial tcp 10.0.2.2:5000: connect: connection refused`;
  // Talos v1.13.0 prints this if the caller of a pull has gone. It does not contain the reason.
  const canceledPull = `retrying error: failed to pull image "${image}": failed to do request: Head "http://10.0.2.2:5000/v2/": context canceled`;
  const errorOfOtherImage = 'failed to pull image "ghcr.io/other:v1": refused';
  const lines = [
    `pulling image ${image}: starting...`,
    refusedPull,
    canceledPull,
    errorOfOtherImage,
  ];
  expect(pullErrorOf(lines, image)).toBe(refusedPull);
  expect(pullErrorOf(lines.slice(0, 1), image)).toBeUndefined();
});

test("driverErrors returns each error of a card once with its count, and the ignored cards", () => {
  // Lines as talosctl prints them (NVIDIA/open-gpu-kernel-modules#446), and messages that a kernel breaks into
  // several lines (NVIDIA/NVSentinel#155).
  const kernelLine = (text: string): string =>
    `192.168.11.119: kern: warning: [2026-04-22T21:30:51.870495804Z]: NVRM: ${text}`;
  const mmuFault =
    "Xid (PCI:0000:0b:00): 31, pid=11, name=ollama, MMU Fault: ENGINE GRAPHICS faulted @ 0x7f9a";
  const log = [
    kernelLine("loading NVIDIA UNIX Open Kernel Module for x86_64  595.71.05"),
    kernelLine("kflcnCoreDumpNondestructive_IMPL: PRI: riscvPc               : 00000000"),
    kernelLine(
      "Xid (PCI:0000:0b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    ),
    ...Array.from({ length: 3 }, (_, index) => kernelLine(`${mmuFault}_${index}000`)),
    kernelLine(mmuFault.replace("0b", "0c")),
    kernelLine("The NVIDIA GPU 0000:b3:00.0"),
    "               NVRM: (PCI ID: 10de:26b5) installed in this system has",
    "               NVRM: fallen off the bus and is not responding to commands.",
  ];
  expect(driverErrors(consoleLines(log.join("\n")))).toEqual([
    "NVRM: Xid (PCI:0000:0b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
    `NVRM: ${mmuFault}_0000 (and 2 more times)`,
    `NVRM: ${mmuFault.replace("0b", "0c")}`,
    "NVRM: fallen off the bus and is not responding to commands.",
  ]);
});

test.each<[string, string[], string[], string[]]>([
  ["nothing was added", ["a", "b"], ["a", "b"], []],
  ["an equal line was added", ["a", "b"], ["a", "b", "b"], ["b"]],
  ["the kernel dropped the oldest line", ["a", "b", "c"], ["b", "c", "d"], ["d"]],
  ["the kernel dropped all of them", ["a", "b"], ["c", "d"], ["c", "d"]],
  ["there was no line before", [], ["a"], ["a"]],
])("the new lines of a console, if %s", (_, earlier, current, added) =>
  expect(linesSince(earlier, current)).toEqual(added),
);
