import { hiddenOnANode, mayAdminister } from "../../real-node/able";

test.each([
  ["root of a computer", "CapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n", true],
  ["root of a sandbox without CAP_SYS_RESOURCE", "CapEff:\t000001fffeffffff\n", true],
  ["root of an unprivileged container", "CapEff:\t00000000a80425fb\n", false],
  ["somebody", "CapEff:\t0000000000000000\n", false],
  ["an unknown address", "", false],
])("namespaces and mounts, as %s: %#", (_who, status, may) => {
  expect(mayAdminister(status)).toBe(may);
});

test.each(["/tmp", "/devices"])("a node sees temporary files in %s", (folder) => {
  expect(hiddenOnANode(folder)).toEqual([]);
});

test.each(["/dev", "/dev/shm/mine", "/tmp/../dev/shm"])(
  "a node does not see temporary files in %s",
  (folder) => {
    expect(hiddenOnANode(folder)).toEqual([
      `temporary files are in ${folder} (TMPDIR), and a node has a /dev of its own: set TMPDIR to another folder`,
    ]);
  },
);
