import { type InNamespaces, mayAdminister, whatIsRefused } from "../../real-node/able";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";

/**
 * Runs the trials' script in a shell in which each program of `broken` fails with a message, and the others do
 * nothing.
 */
const without =
  (...broken: string[]): InNamespaces =>
  (script) => {
    const stubs = ["mount", "ip", "mknod", "mkdir", "rmdir", "cc"].map(
      (name) =>
        `${name}() { ${broken.includes(name) ? `echo "${name} may not" >&2; return 1` : ":"}; }`,
    );
    // The stubs make no files, so the script must not write to them or run them.
    const rest = script.replace("echo > $T/null", ":").replace("&& $T/a", "");
    return spawnSync("sh", ["-c", [...stubs, rest].join("\n")], { encoding: "utf8" });
  };

test.each<[string[], string[]]>([
  [[], []],
  [["ip"], ["there are no network cables (veth): ip may not", "there are no bridges: ip may not"]],
  [["mknod"], ["no device may be made: mknod may not"]],
  [["cc"], ["the C compiler makes no static program (Debian: libc6-dev): cc may not"]],
])("if %j fail, the lab refuses a real node because: %j", (broken, reasons) => {
  expect(whatIsRefused(without(...broken))).toEqual(reasons);
});

test("without the right to create namespaces, the lab gives only that reason", () => {
  const refused: InNamespaces = () => ({
    status: 1,
    stdout: "",
    stderr: "unshare failed: Operation not permitted\n",
  });
  expect(whatIsRefused(refused)).toEqual([
    "namespaces may not be made: unshare failed: Operation not permitted",
  ]);
});

const may =
  process.platform === "linux" && mayAdminister(fs.readFileSync("/proc/self/status", "utf8"));
(may ? test : test.skip)("the check leaves no mount, link or control group", () => {
  const traces = (): unknown[] => [
    fs.readFileSync("/proc/self/mountinfo", "utf8"),
    fs.readdirSync("/sys/class/net"),
    fs.readdirSync("/sys/fs/cgroup"),
  ];
  const before = traces();
  whatIsRefused();
  expect(traces()).toEqual(before);
});
