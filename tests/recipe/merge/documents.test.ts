import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { said, talos } from "./said";

describe("documents", () => {
  const link = (mtu: number): string => stringify({ apiVersion: "v1alpha1", kind: "LinkConfig", name: "eth0", mtu });

  test("one of the same kind and name is merged, and given back", () => {
    const merged = mergeConfiguration(talos, [link(1500)]);
    expect(said(merged.configuration)[1]).toMatchObject({ name: "eth0", mtu: 1500 });
    expect(said(unmergeConfiguration(merged.configuration, merged.added))).toEqual(said(talos));
  });

  test("another one is added, changed and taken away", () => {
    const other = (mtu: number): string => link(mtu).replace("eth0", "eth1");
    const first = mergeConfiguration(talos, [other(1500)]);
    expect(said(first.configuration)).toHaveLength(4);
    const second = mergeConfiguration(first.configuration, [other(9000)], first.added);
    expect(said(second.configuration)[3]).toMatchObject({ name: "eth1", mtu: 9000 });
    expect(unmergeConfiguration(second.configuration, second.added)).toBe(talos);
  });

  test("of a kernel module stays where the modules do", () => {
    const module = stringify({ apiVersion: "v1alpha1", kind: "KernelModuleConfig", name: "drbd9" });
    const { configuration, added } = mergeConfiguration(talos, [module, link(1500)]);
    const stays = said(unmergeConfiguration(configuration, added, false));
    expect(stays).toEqual([...said(talos), { apiVersion: "v1alpha1", kind: "KernelModuleConfig", name: "drbd9" }]);
    expect(said(unmergeConfiguration(configuration, added))).toEqual(said(talos));
  });
});
