import { hiddenOnANode, mayAdminister } from "../../real-node/able";

test.each([
  ["root of a computer", "CapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n", true],
  ["root of a sandbox without CAP_SYS_RESOURCE", "CapEff:\t000001fffeffffff\n", true],
  ["root of an unprivileged container", "CapEff:\t00000000a80425fb\n", false],
  ["somebody", "CapEff:\t0000000000000000\n", false],
  ["nobody knows whom", "", false],
])("namespaces and mounts, as %s: %#", (_who, status, may) => {
  expect(mayAdminister(status)).toBe(may);
});

test.each([
  ["/tmp", 0],
  ["/devices", 0],
  ["/dev", 1],
  ["/dev/shm/mine", 1],
  ["/tmp/../dev/shm", 1],
])("temporary files in %s: a node sees them, or the lab says why not", (folder, reasons) => {
  expect(hiddenOnANode(folder)).toHaveLength(reasons);
});
