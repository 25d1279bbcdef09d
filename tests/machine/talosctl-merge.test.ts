import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import * as semver from "semver";
import { stringify } from "yaml";
import { knownMinors } from "../../components/recipe/facts/talos-release";
import { mergeConfiguration, unmergeConfiguration } from "../../components/recipe/merge";
import { catalogue } from "../../lab/tools/catalogue";
import { withTalosctl } from "./with-talosctl";

/**
 * The real talosctl tests the merge into an adopted machine's configuration. A generated configuration with
 * patches must equal the output of `talosctl machineconfig patch`, for every contract that this talosctl can
 * generate and the tables have. The merge differs from Talos' on purpose in two cases, which the patches below
 * avoid. An item of a list with a key (merge/keyed-lists.ts) is merged with the existing one.
 * A value that is already in the list is not added again. Talos appends both. An empty value (`""`, 0) replaces a value; Talos
 * takes it for a missing one.
 */
const run = promisify(execFile);
const its = withTalosctl();

const word = fc.constantFrom("alpha", "beta", "gamma", "delta");
const some = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.uniqueArray(arbitrary, {
    minLength: 1,
    maxLength: 3,
    selector: (value) => JSON.stringify(value),
  });
const record = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> =>
  fc.dictionary(word, value, { minKeys: 1, maxKeys: 3 });
const address = fc.integer({ min: 1, max: 250 }).map((host) => `10.9.8.${host}`);
const size = fc.integer({ min: 1, max: 60_000 });

/**
 * Fields of `machine` that a patch may set. `side` prevents two patches of a run from adding the same item to a
 * list.
 */
const machine = (side: string): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(
    {
      sysctls: record(fc.oneof(word, size)),
      nodeLabels: record(word),
      certSANs: some(word.map((name) => `${side}-${name}`)),
      kernel: fc.record({
        modules: some(word.map((name) => ({ name: `${side}_${name}`, parameters: ["a=b"] }))),
      }),
      files: some(word).map((names) =>
        names.map((name) => ({
          path: `/var/${side}/${name}`,
          op: "create",
          permissions: 0o600,
          content: name,
        })),
      ),
      time: fc.record({
        servers: some(word.map((name) => `${side}.${name}`)),
        bootTimeout: fc.constant("2m0s"),
      }),
      kubelet: fc.record({
        extraArgs: record(word),
        extraConfig: fc.record({ maxPods: size, nested: record(fc.boolean()) }),
        disableManifestsDirectory: fc.boolean(),
      }),
      network: fc.record({
        nameservers: some(address.map((one) => (side === "a" ? one : one.replace("10.9", "10.7")))),
        interfaces: some(word).map((names) =>
          names.map((name) => ({
            interface: name,
            mtu: 9000,
            vlans: [{ vlanId: side === "a" ? 7 : 8, dhcp: true }],
          })),
        ),
      }),
      registries: fc.record({
        mirrors: record(fc.constant({ endpoints: [`https://${side}.example.org`] })),
      }),
    },
    { requiredKeys: [] },
  );

const cluster = fc.record(
  {
    network: fc.record({
      cni: fc.constant({ name: "none" }),
      podSubnets: some(address.map((one) => `${one}/32`)),
    }),
    proxy: fc.record({ disabled: fc.boolean() }),
    apiServer: fc.record({ extraArgs: record(word) }),
  },
  { requiredKeys: [] },
);

const documents = (side: string): fc.Arbitrary<object[]> =>
  fc.uniqueArray(
    fc.oneof(
      word.map((name) => ({
        apiVersion: "v1alpha1",
        kind: "KmsgLogConfig",
        name,
        url: `udp://${side}.example.org:514`,
      })),
      word.map((name) => ({
        apiVersion: "v1alpha1",
        kind: "ExtensionServiceConfig",
        name,
        configFiles: [{ content: side, mountPath: "/etc/x" }],
      })),
      some(word).map((images) => ({
        apiVersion: "v1alpha1",
        kind: "ImageVerificationConfig",
        rules: images.map((image) =>
          side === "a" ? { image, skip: true } : { image, deny: true },
        ),
      })),
      some(size).map((ports) => ({
        apiVersion: "v1alpha1",
        kind: "NetworkRuleConfig",
        name: "rule",
        portSelector: { ports, protocol: "tcp" },
        ingress: [{ subnet: "10.0.0.0/8" }],
      })),
    ),
    {
      maxLength: 3,
      selector: (document) => `${document.kind}/${"name" in document ? document.name : ""}`,
    },
  );

/** A patch in both styles of YAML: in blocks, or on one line. */
const patch = (side: string): fc.Arbitrary<string> =>
  fc
    .tuple(machine(side), cluster, documents(side), fc.boolean())
    .map(([machinePart, clusterPart, more, inFlow]) =>
      [{ machine: machinePart, cluster: clusterPart }, ...more]
        .map((part) => (inFlow ? `${JSON.stringify(part)}\n` : stringify(part)))
        .join("---\n"),
    );

const { require } = catalogue.find(({ name }) => name === "talosctl")!.modules!;
const newest = semver.coerce(
  require.find((module) => module.startsWith("github.com/siderolabs/talos ")),
)!.minor;
const contracts = knownMinors().filter((minor) => Number(minor.split(".")[1]) <= newest);

test("the tested contracts end with that of the pinned talosctl", () =>
  expect(contracts.at(-1)).toBe(`1.${newest}`));

describe.each(contracts.map((minor) => `v${minor}`))("contract %s", (contract) => {
  test("a merge equals talosctl's, and unmerging restores the configuration", async () => {
    const base = path.join(its.folder, `${contract}.yaml`);
    const args = [
      "--talos-version",
      contract,
      "--install-disk",
      "/dev/sda",
      "--output-types",
      "worker",
    ];
    await run(its.talosctl, [
      "gen",
      "config",
      "lab",
      "https://10.0.0.1:6443",
      ...args,
      "--output",
      base,
    ]);
    const live = fs.readFileSync(base, "utf8");
    const secrets = [...live.matchAll(/^\s+(?:token|secret|id|key): (\S{16,})/gm)].map(
      (match) => match[1]!,
    );
    expect(secrets.length).toBeGreaterThan(0);

    const patched = async (file: string, patches: string[]): Promise<string> => {
      const wanted = patches.flatMap((text) => ["--patch", text]);
      return (await run(its.talosctl, ["machineconfig", "patch", file, ...wanted])).stdout;
    };
    const nothing = "machine: {}\n"; // an empty patch: talosctl then writes the merged file in its own order
    const before = await patched(base, [nothing]);
    const property = fc.asyncProperty(patch("a"), patch("b"), async (first, second) => {
      const patches = [first, second];
      const { configuration, added, conflicts } = mergeConfiguration(live, patches);
      expect(conflicts).toEqual([]);
      const file = path.join(its.folder, "merged.yaml");
      fs.writeFileSync(file, configuration);
      const [ours, theirs] = await Promise.all([patched(file, [nothing]), patched(base, patches)]);
      expect(withoutOrder(ours)).toEqual(withoutOrder(theirs));

      const again = mergeConfiguration(configuration, patches, added);
      expect(again.changed).toBe(false);
      const remembered = JSON.stringify(added);
      for (const secret of secrets) expect(remembered).not.toContain(secret);
      fs.writeFileSync(file, unmergeConfiguration(configuration, added));
      expect(await patched(file, [nothing])).toBe(before);
    });
    await fc.assert(property, { numRuns: 3, endOnFailure: true });
  });
});

/** Documents ordered by name, since their order has no meaning. */
function withoutOrder(text: string): string[] {
  return text
    .split(/^---$/m)
    .map((part) => part.trim())
    .sort();
}
