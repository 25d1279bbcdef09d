import { problemsOfTemporaryFolder, hasSysAdmin } from "../../real-node/able";

test.each([
  ["root of a computer", true, "CapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n"],
  ["root of a sandbox without CAP_SYS_RESOURCE", true, "CapEff:\t000001fffeffffff\n"],
  ["root of an unprivileged container", false, "CapEff:\t00000000a80425fb\n"],
  ["an unprivileged user", false, "CapEff:\t0000000000000000\n"],
  ["a process with an unknown status", false, ""],
])("%s may create namespaces and mounts: %s", (_who, isAllowed, status) => {
  expect(hasSysAdmin(status)).toBe(isAllowed);
});

test.each(["/tmp", "/devices"])("a real node may have temporary files in %s", (folder) => {
  expect(problemsOfTemporaryFolder(folder)).toEqual([]);
});

test.each(["/dev", "/dev/shm/mine", "/tmp/../dev/shm"])(
  "a real node is refused if temporary files are in %s",
  (folder) => {
    expect(problemsOfTemporaryFolder(folder)).toEqual([
      `temporary files are in ${folder} (TMPDIR), and a node has a /dev of its own: set TMPDIR to another folder`,
    ]);
  },
);
