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
const tools = withTalosctl();

const word = fc.constantFrom("alpha", "beta", "gamma", "delta");
const distinctItems = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.uniqueArray(arbitrary, {
    minLength: 1,
    maxLength: 3,
    selector: (value) => JSON.stringify(value),
  });
const dictionary = (value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> =>
  fc.dictionary(word, value, { minKeys: 1, maxKeys: 3 });
const address = fc.integer({ min: 1, max: 250 }).map((host) => `10.9.8.${host}`);
const size = fc.integer({ min: 1, max: 60_000 });

/**
 * Fields of `machine` that a patch may set. Two patches of a run have different prefixes, so that they never add
 * the same item to a list.
 */
const machine = (prefix: string): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(
    {
      sysctls: dictionary(fc.oneof(word, size)),
      nodeLabels: dictionary(word),
      certSANs: distinctItems(word.map((name) => `${prefix}-${name}`)),
      kernel: fc.record({
        modules: distinctItems(
          word.map((name) => ({ name: `${prefix}_${name}`, parameters: ["a=b"] })),
        ),
      }),
      files: distinctItems(word).map((names) =>
        names.map((name) => ({
          path: `/var/${prefix}/${name}`,
          op: "create",
          permissions: 0o600,
          content: name,
        })),
      ),
      time: fc.record({
        servers: distinctItems(word.map((name) => `${prefix}.${name}`)),
        bootTimeout: fc.constant("2m0s"),
      }),
      kubelet: fc.record({
        extraArgs: dictionary(word),
        extraConfig: fc.record({ maxPods: size, nested: dictionary(fc.boolean()) }),
        disableManifestsDirectory: fc.boolean(),
      }),
      network: fc.record({
        nameservers: distinctItems(
          address.map((host) => (prefix === "a" ? host : host.replace("10.9", "10.7"))),
        ),
        interfaces: distinctItems(word).map((names) =>
          names.map((name) => ({
            interface: name,
            mtu: 9000,
            vlans: [{ vlanId: prefix === "a" ? 7 : 8, dhcp: true }],
          })),
        ),
      }),
      registries: fc.record({
        mirrors: dictionary(fc.constant({ endpoints: [`https://${prefix}.example.org`] })),
      }),
    },
    { requiredKeys: [] },
  );

const cluster = fc.record(
  {
    network: fc.record({
      cni: fc.constant({ name: "none" }),
      podSubnets: distinctItems(address.map((host) => `${host}/32`)),
    }),
    proxy: fc.record({ disabled: fc.boolean() }),
    apiServer: fc.record({ extraArgs: dictionary(word) }),
  },
  { requiredKeys: [] },
);

const documents = (prefix: string): fc.Arbitrary<object[]> =>
  fc.uniqueArray(
    fc.oneof(
      word.map((name) => ({
        apiVersion: "v1alpha1",
        kind: "KmsgLogConfig",
        name,
        url: `udp://${prefix}.example.org:514`,
      })),
      word.map((name) => ({
        apiVersion: "v1alpha1",
        kind: "ExtensionServiceConfig",
        name,
        configFiles: [{ content: prefix, mountPath: "/etc/x" }],
      })),
      distinctItems(word).map((images) => ({
        apiVersion: "v1alpha1",
        kind: "ImageVerificationConfig",
        rules: images.map((image) =>
          prefix === "a" ? { image, skip: true } : { image, deny: true },
        ),
      })),
      distinctItems(size).map((ports) => ({
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
const patch = (prefix: string): fc.Arbitrary<string> =>
  fc
    .tuple(machine(prefix), cluster, documents(prefix), fc.boolean())
    .map(([machinePart, clusterPart, documentParts, inFlow]) =>
      [{ machine: machinePart, cluster: clusterPart }, ...documentParts]
        .map((document) => (inFlow ? `${JSON.stringify(document)}\n` : stringify(document)))
        .join("---\n"),
    );

const { require } = catalogue.find(({ name }) => name === "talosctl")!.modules!;
const newestMinor = semver.coerce(
  require.find((module) => module.startsWith("github.com/siderolabs/talos ")),
)!.minor;
const contracts = knownMinors().filter((minor) => Number(minor.split(".")[1]) <= newestMinor);

test("the tested contracts end with that of the pinned talosctl", () =>
  expect(contracts.at(-1)).toBe(`1.${newestMinor}`));

describe.each(contracts.map((minor) => `v${minor}`))("contract %s", (contract) => {
  test("a merge equals talosctl's, and unmerging restores the configuration", async () => {
    const baseFile = path.join(tools.folder, `${contract}.yaml`);
    const args = [
      "--talos-version",
      contract,
      "--install-disk",
      "/dev/sda",
      "--output-types",
      "worker",
    ];
    await run(tools.talosctl, [
      "gen",
      "config",
      "lab",
      "https://10.0.0.1:6443",
      ...args,
      "--output",
      baseFile,
    ]);
    const baseConfiguration = fs.readFileSync(baseFile, "utf8");
    const secrets = [...baseConfiguration.matchAll(/^\s+(?:token|secret|id|key): (\S{16,})/gm)].map(
      (match) => match[1]!,
    );
    expect(secrets.length).toBeGreaterThan(0);

    const patchWithTalosctl = async (file: string, patches: string[]): Promise<string> => {
      const patchArgs = patches.flatMap((text) => ["--patch", text]);
      return (await run(tools.talosctl, ["machineconfig", "patch", file, ...patchArgs])).stdout;
    };
    const emptyPatch = "machine: {}\n"; // an empty patch: talosctl then writes the merged file in its own order
    const baseText = await patchWithTalosctl(baseFile, [emptyPatch]);
    const property = fc.asyncProperty(patch("a"), patch("b"), async (firstPatch, secondPatch) => {
      const patches = [firstPatch, secondPatch];
      const { configuration, added, conflicts } = mergeConfiguration(baseConfiguration, patches);
      expect(conflicts).toEqual([]);
      const file = path.join(tools.folder, "merged.yaml");
      fs.writeFileSync(file, configuration);
      const [mergedText, talosctlText] = await Promise.all([
        patchWithTalosctl(file, [emptyPatch]),
        patchWithTalosctl(baseFile, patches),
      ]);
      expect(withoutOrder(mergedText)).toEqual(withoutOrder(talosctlText));

      const secondMerge = mergeConfiguration(configuration, patches, added);
      expect(secondMerge.changed).toBe(false);
      const addedText = JSON.stringify(added);
      for (const secret of secrets) expect(addedText).not.toContain(secret);
      fs.writeFileSync(file, unmergeConfiguration(configuration, added));
      expect(await patchWithTalosctl(file, [emptyPatch])).toBe(baseText);
    });
    await fc.assert(property, { numRuns: 3, endOnFailure: true });
  });
});

/** Documents ordered by name, since their order has no meaning. */
function withoutOrder(text: string): string[] {
  return text
    .split(/^---$/m)
    .map((document) => document.trim())
    .sort();
}
