import { planCluster } from "../../../components/recipe";
import { describeEffect, effectOf, machineStates } from "../../../components/recipe/effect/effect";
import { planOf } from "../../support/plans";
import { stackOfOneMachine } from "../stacks";

describe("the preview of a machine that leaves the stack", () => {
  const state = machineStates(planOf("velaryon"))["velaryon"]!;
  const words: [string, Partial<typeof state>, string, RegExp][] = [
    [
      "of an adopted machine with a card keeps NVIDIA's kernel modules until the next boot",
      { configuration: "adopted" },
      "no",
      /removed, .* next boot\. The entries for NVIDIA's kernel modules stay, because its image needs them to boot$/,
    ],
    [
      "of an owned machine leaves it as it is",
      { configuration: "owned" },
      "no",
      /^it is left as it is$/,
    ],
    [
      "of an Omni machine announces a new image and configuration by Omni",
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

  test("of an adopted machine without a card mentions no kernel modules", () => {
    const { driver: _, ...rest } = state;
    expect(effectOf({ ...rest, configuration: "adopted" }, undefined).because).not.toContain(
      "kernel modules",
    );
  });
});

describe("a machine whose field configuration changes", () => {
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
  test.each(words)("from %s to %s is previewed with reboots: %s", (was, is, reboots, because) => {
    const [before, after] = [was, is].map((configuration) => ({ ...state, configuration }));
    expect(effectOf(before, after)).toMatchObject({
      reboots,
      because: expect.stringMatching(because),
    });
  });
});

test.each<[string, string | undefined, string, string | undefined, string]>([
  ["Talos drains in an upgrade from 1.12", "v1.12.6", "v1.13.0", undefined, "by Talos itself"],
  [
    "Talos drains in an upgrade from the 1.12 of runningVersion",
    undefined,
    "v1.13.0",
    "v1.12.6",
    "by Talos itself",
  ],
  ["Talos drains in a first update to 1.12", undefined, "v1.12.6", undefined, "by Talos itself"],
  [
    "Talos may drain in a first update to 1.13",
    undefined,
    "v1.13.0",
    undefined,
    "by Talos itself, if it runs 1.12 or older",
  ],
  ["no drain is part of an upgrade from 1.13", "v1.13.0", "v1.13.9", "v1.12.6", "no"],
  ["no drain is part of an update without an upgrade", "v1.12.6", "v1.12.6", undefined, "no"],
])("if the stack turns drains off, %s", (_, was, wanted, runningVersion, drained) => {
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
});

test("a change from one custom installer image to another reboots the machine", () => {
  const state = (installerImage: string) =>
    machineStates(
      planCluster(stackOfOneMachine("v1.13.6", { installerImage, gpus: [{ model: "RTX 3090" }] })),
    )["gpu"]!;
  const [was, is] = ["a", "b"].map((tag) => `registry.example.com/talos/installer:${tag}`);
  expect(effectOf(state(was!), state(is!))).toMatchObject({
    reboots: "yes",
    because: expect.stringMatching(/installerImage: .*:a → .*:b/),
  });
});
