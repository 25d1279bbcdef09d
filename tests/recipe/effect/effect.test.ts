import { planCluster } from "../../../components/recipe";
import { describeEffect, effectOf, machineStates } from "../../../components/recipe/effect/effect";
import { planOf } from "../../support/plans";
import { oneMachine } from "../stacks";

describe("a machine that the stack gives up", () => {
  const state = machineStates(planOf("velaryon"))["velaryon"]!;
  const words: [string, Partial<typeof state>, string, RegExp][] = [
    [
      "adopted, with a card",
      { configuration: "adopted" },
      "no",
      /removed, .* next boot\. The entries for NVIDIA's kernel modules stay, because its image needs them to boot$/,
    ],
    ["owned", { configuration: "owned" }, "no", /^it is left as it is$/],
    [
      "Omni's",
      { configuration: "omni" },
      "yes",
      /^Omni makes a new image and configuration for it, without/,
    ],
  ];
  test.each(words)("%s", (_, said, reboots, because) => {
    expect(effectOf({ ...state, ...said }, undefined)).toMatchObject({
      reboots,
      because: expect.stringMatching(because),
    });
  });

  test("adopted, without a card: nothing of the stack's part stays", () => {
    const { driver: _, ...rest } = state;
    expect(effectOf({ ...rest, configuration: "adopted" }, undefined).because).not.toContain(
      "kernel modules",
    );
  });
});

describe("a machine whose configuration gets another owner", () => {
  const state = machineStates(planOf("velaryon"))["velaryon"]!;
  const words: [string, string, string, RegExp][] = [
    [
      "adopted",
      "owned",
      "no",
      /^the update refuses to change its configuration from adopted to owned in one step$/,
    ],
    ["omni", "adopted", "no", /^the update refuses/],
    ["owned", "adopted", "only if", /^the change from owned to adopted alters its configuration$/],
  ];
  test.each(words)("%s to %s", (was, is, reboots, because) => {
    const [before, after] = [was, is].map((configuration) => ({ ...state, configuration }));
    expect(effectOf(before, after)).toMatchObject({
      reboots,
      because: expect.stringMatching(because),
    });
  });
});

test.each<[string, string | undefined, string, string | undefined, string]>([
  ["an upgrade from 1.12", "v1.12.6", "v1.13.0", undefined, "by Talos itself"],
  ["one that the stack says of 1.12", undefined, "v1.13.0", "v1.12.6", "by Talos itself"],
  ["one to 1.12", undefined, "v1.12.6", undefined, "by Talos itself"],
  [
    "one of who knows what",
    undefined,
    "v1.13.0",
    undefined,
    "by Talos itself, if it runs 1.12 or older",
  ],
  ["an upgrade from 1.13", "v1.13.0", "v1.13.9", "v1.12.6", "no"],
  ["no upgrade", "v1.12.6", "v1.12.6", undefined, "no"],
])(
  "if the stack turns drains off, Talos up to 1.12 drains: %s",
  (_, was, wanted, runningVersion, drained) => {
    const { rebootsIfChanged, ...rest } = machineStates(planOf("velaryon"))["velaryon"]!;
    const state = (talosVersion: string, parts = {}) => ({
      ...rest,
      drainedBeforeReboot: "no",
      rebootsIfChanged: { ...rebootsIfChanged, talosVersion, parts },
    });
    const before = was === undefined ? undefined : state(was, { "machine.files": "1" });
    const effect = effectOf(before, {
      ...state(wanted),
      ...(runningVersion && { runningVersion }),
    });
    expect(effect.drained).toBe(drained);
    expect(describeEffect(effect)).toContain(
      drained === "no" ? "; it is not drained" : `; it is then drained ${drained}`,
    );
  },
);

test("a change from one custom installer image to another reboots the machine", () => {
  const state = (installerImage: string) =>
    machineStates(
      planCluster(oneMachine("v1.13.6", { installerImage, gpus: [{ model: "RTX 3090" }] })),
    )["gpu"]!;
  const [was, is] = ["a", "b"].map((tag) => `registry.example.com/talos/installer:${tag}`);
  expect(effectOf(state(was!), state(is!))).toMatchObject({
    reboots: "yes",
    because: expect.stringMatching(/installerImage: .*:a → .*:b/),
  });
});
