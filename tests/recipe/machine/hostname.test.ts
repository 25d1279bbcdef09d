import { parse } from "yaml";
import { documentsOf } from "../../../components/recipe/merge/wanted";
import { hostnamePatch } from "../../../components/recipe/machine/hostname";
import { readPatch } from "../../../components/recipe/machine/user-patches";

// tests/machine/talosctl-validate.test.ts validates the result with the real talosctl.

test.each([
  ["v1.11.6", { machine: { network: { hostname: "gpu-1" } } }],
  ["v1.12.0", { apiVersion: "v1alpha1", kind: "HostnameConfig", auto: "off", hostname: "gpu-1" }],
  ["v1.14.3", { apiVersion: "v1alpha1", kind: "HostnameConfig", auto: "off", hostname: "gpu-1" }],
])(
  "with the contract %s, an owned machine gets its host name in the contract's form",
  (contract, expected) => {
    expect(parse(hostnamePatch("gpu-1", contract, [])!)).toEqual(expected);
  },
);

test.each(["gpu-1", "1e3", "null", "on", "0x1", "1.20", "a: b", "#", "-", "ä'\"", " a "])(
  "for the host name %j, the stack remembers the same document that Talos reads",
  (name) => {
    const text = hostnamePatch(name, "v1.13.0", [])!;
    expect(documentsOf(text)).toEqual(documentsOf(`${text}# another text, which is read\n`));
    expect(documentsOf(text)[0]![1]).toMatchObject({
      kind: "HostnameConfig",
      auto: "off",
      hostname: name,
    });
  },
);

test.each([
  "machine: {network: {hostname: mine}}",
  "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: mine\nauto: off\n",
])("an owned machine gets no second host name if a patch sets one: %j", (text) => {
  expect(hostnamePatch("gpu-1", "v1.12.0", [readPatch(text, "patches[0]")])).toBeUndefined();
});

test("an owned machine gets its host name if a patch sets only other network settings", () => {
  const patch = readPatch("machine: {network: {nameservers: [192.0.2.1]}}", "patches[0]");
  expect(hostnamePatch("gpu-1", "v1.12.0", [patch])).toBeDefined();
});
