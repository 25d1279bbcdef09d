import { type RunInNamespaces, hasSysAdmin, findMissingFeatures } from "../../real-node/able";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";

/** Runs a script in a shell in which these programs fail with a message, and the other programs do nothing. */
const shellWithFailing =
  (...failingPrograms: string[]): RunInNamespaces =>
  (script) => {
    const stubs = ["mount", "ip", "mknod", "mkdir", "rmdir", "cc"].map(
      (name) =>
        `${name}() { ${failingPrograms.includes(name) ? `echo "${name} failed" >&2; return 1` : ":"}; }`,
    );
    // The stubs make no files, so the script must not write to them or run them.
    const scriptWithoutFiles = script.replace("echo > $T/null", ":").replace("&& $T/a", "");
    return spawnSync("sh", ["-c", [...stubs, scriptWithoutFiles].join("\n")], { encoding: "utf8" });
  };

test.each<[string[], string[]]>([
  [[], []],
  [
    ["ip"],
    [
      "no virtual Ethernet pair (veth) can be created: ip failed",
      "no bridge can be created: ip failed",
    ],
  ],
  [["mknod"], ["no device can be created: mknod failed"]],
  [["cc"], ["the C compiler cannot build a static program (Debian: libc6-dev): cc failed"]],
])(
  "if the programs %j fail, the reasons why this computer cannot run a real node are %j",
  (failingPrograms, reasons) => {
    expect(findMissingFeatures(shellWithFailing(...failingPrograms))).toEqual(reasons);
  },
);

test("without the right to create namespaces, the lab gives only that reason", () => {
  const refuseNamespaces: RunInNamespaces = () => ({
    status: 1,
    stdout: "",
    stderr: "unshare failed: Operation not permitted\n",
  });
  expect(findMissingFeatures(refuseNamespaces)).toEqual([
    "namespaces cannot be created: unshare failed: Operation not permitted",
  ]);
});

const isAllowed =
  process.platform === "linux" && hasSysAdmin(fs.readFileSync("/proc/self/status", "utf8"));
(isAllowed ? test : test.skip)("the check leaves no mount, link or control group", () => {
  const kernelObjects = (): unknown[] => [
    fs.readFileSync("/proc/self/mountinfo", "utf8"),
    fs.readdirSync("/sys/class/net"),
    fs.readdirSync("/sys/fs/cgroup"),
  ];
  const objectsBefore = kernelObjects();
  findMissingFeatures();
  expect(kernelObjects()).toEqual(objectsBefore);
});
