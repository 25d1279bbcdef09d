import { parse, stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { wantedOf } from "../../../components/recipe/merge/wanted";
import { said } from "./said";

/** A document of a kind, which names itself where others of its kind may stand beside it. */
const of = (kind: string, content: object, name?: string): string =>
  stringify({ apiVersion: "v1alpha1", kind, ...(name === undefined ? {} : { name }), ...content });

const extraArgs = (args: object): string => stringify({ machine: { kubelet: { extraArgs: args } } });

/** What stands there, what a patch says, and what Talos makes of both (`merge:"replace"`, Args.Merge, ImageVerificationRules.Merge). */
const cases: { name: string; live: string; patch: string; gives?: string }[] = [
  {
    name: "the pod networks of Talos 1.14",
    live: of("KubeNetworkConfig", {
      podSubnets: ["10.244.0.0/16"],
      serviceSubnets: ["10.96.0.0/12"],
      dnsDomain: "a.b",
    }),
    patch: of("KubeNetworkConfig", { podSubnets: ["10.1.0.0/16"] }),
    gives: of("KubeNetworkConfig", { podSubnets: ["10.1.0.0/16"], serviceSubnets: ["10.96.0.0/12"], dnsDomain: "a.b" }),
  },
  ...["KubeAuditPolicyConfig", "KubeAuthenticationConfig", "KubeCredentialProviderConfig"].map((kind) => ({
    name: kind,
    live: of(kind, { configuration: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] } }),
    patch: of(kind, { configuration: { rules: [{ level: "None" }] } }),
  })),
  {
    name: "a static pod",
    live: of("KubeStaticPodConfig", { pod: { metadata: { name: "a" }, spec: { hostNetwork: true } } }, "nginx"),
    patch: of("KubeStaticPodConfig", { pod: { metadata: { name: "b" } } }, "nginx"),
  },
  {
    name: "the base runtime's overrides",
    live: of("CRIBaseRuntimeSpecConfig", { overrides: { process: { rlimits: [{ hard: 1 }] } } }),
    patch: of("CRIBaseRuntimeSpecConfig", { overrides: { process: { oomScoreAdj: 1 } } }),
  },
  {
    name: "lists of BGP",
    live: of(
      "BGPInstanceConfig",
      { advertise: ["a"], importRoutes: [{ bgpInstance: "x" }], neighbors: [{ link: "a" }] },
      "f",
    ),
    patch: of(
      "BGPInstanceConfig",
      { advertise: ["b"], importRoutes: [{ bgpInstance: "y" }], neighbors: [{ link: "b" }] },
      "f",
    ),
  },
  {
    name: "rules of image verification, by their image and in their place",
    live: of("ImageVerificationConfig", {
      rules: [
        { image: "a/*", keyless: { issuer: "i" } },
        { image: "*", skip: true },
      ],
    }),
    patch: of("ImageVerificationConfig", {
      rules: [
        { image: "b/*", skip: true },
        { image: "a/*", skip: true },
      ],
    }),
    gives: of("ImageVerificationConfig", {
      rules: [
        { image: "a/*", skip: true },
        { image: "*", skip: true },
        { image: "b/*", skip: true },
      ],
    }),
  },
  { name: "a list of an argument", live: extraArgs({ a: ["x", "y"] }), patch: extraArgs({ a: ["z"] }) },
  { name: "an argument's text by a list", live: extraArgs({ a: "x" }), patch: extraArgs({ a: ["y", "z"] }) },
  { name: "an argument's list by a text", live: extraArgs({ a: ["x", "y"] }), patch: extraArgs({ a: "z" }) },
  {
    name: "an argument of a document of Talos 1.14",
    live: of("KubeletConfig", { extraArgs: { a: ["x"], b: "c" } }),
    patch: of("KubeletConfig", { extraArgs: { a: ["y"] } }),
    gives: of("KubeletConfig", { extraArgs: { a: ["y"], b: "c" } }),
  },
];

describe.each(cases)("as Talos replaces it: $name", ({ live, patch, gives = patch }) => {
  test("in what is live, and it comes back", () => {
    const merged = mergeConfiguration(live, [patch]);
    expect(merged.conflicts).toEqual([]);
    expect(said(merged.configuration)).toEqual(said(gives));
    const again = mergeConfiguration(merged.configuration, [patch], merged.added);
    expect(again).toMatchObject({ changed: false, added: merged.added });
    expect(said(unmergeConfiguration(again.configuration, again.added))).toEqual(said(live));
  });

  test("where one patch says it after another", () => {
    const [wanted] = wantedOf([live, patch]).values();
    expect(wanted).toEqual(said(gives)[0]);
  });
});

describe("a rule of image verification", () => {
  const rules = (...items: object[]): string => of("ImageVerificationConfig", { rules: items });
  const live = rules({ image: "a/*", keyless: { issuer: "theirs" } });

  test("of ours takes another content, and the first one is remembered", () => {
    const first = mergeConfiguration(live, [rules({ image: "a/*", skip: true })]);
    const second = mergeConfiguration(first.configuration, [rules({ image: "a/*", skip: false })], first.added);
    expect(said(second.configuration)).toEqual(said(rules({ image: "a/*", skip: false })));
    // What stands there already, from a run whose answer was lost, is ours still.
    const unheard = mergeConfiguration(second.configuration, [rules({ image: "a/*", skip: false })], first.added);
    for (const { configuration, added } of [second, unheard])
      expect(said(unmergeConfiguration(configuration, added))).toEqual(said(live));
  });

  test("that the patches no longer have gives its place back, and one that its owner changed stays", () => {
    const first = mergeConfiguration(live, [rules({ image: "a/*", skip: true })]);
    expect(said(mergeConfiguration(first.configuration, [], first.added).configuration)).toEqual(said(live));
    const theirs = rules({ image: "a/*", keyless: { issuer: "later" } });
    expect(said(unmergeConfiguration(theirs, first.added))).toEqual(said(theirs));
  });
});

test("a list of that name in a document of another kind is not replaced", () => {
  const [live, patch] = [
    of("OtherConfig", { ingress: ["a"], rules: [{ image: "x" }] }),
    of("OtherConfig", { ingress: ["b"], rules: [{ image: "x", more: 1 }] }),
  ];
  expect(parse(mergeConfiguration(live, [patch]).configuration)).toMatchObject({
    ...{ ingress: ["a", "b"], rules: [{ image: "x" }, { image: "x", more: 1 }] },
  });
});
