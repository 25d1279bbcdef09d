import { planCluster } from "../../../components/recipe";
import { describeEffect, effectOf, machineStates } from "../../../components/recipe/effect/effect";
import { planOf } from "../../support/plans";
import { stackOfOneMachine } from "../stacks";

describe("the preview of a machine that leaves the stack", () => {
  const state = machineStates(planOf("velaryon"))["velaryon"]!;
  const leavingCases: [
    title: string,
    change: Partial<typeof state>,
    reboots: string,
    because: RegExp,
  ][] = [
    [
      "of an adopted machine with a card keeps NVIDIA's kernel modules until the next boot",
      { configuration: "adopted" },
      "no",
      /loses the stack's settings at its next boot\. The entries for NVIDIA's kernel modules stay, because its image needs them to boot$/,
    ],
    [
      "of an owned machine leaves it as it is",
      { configuration: "owned" },
      "no",
      /^the update does not change it$/,
    ],
    [
      "of an Omni machine announces a new image and configuration by Omni",
      { configuration: "omni" },
      "yes",
      /^Omni makes a new image and configuration for it, without/,
    ],
  ];
  test.each(leavingCases)("%s", (_, change, reboots, because) => {
    expect(effectOf({ ...state, ...change }, undefined)).toMatchObject({
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
  const changeCases: [previous: string, next: string, reboots: string, because: RegExp][] = [
    [
      "adopted",
      "owned",
      "no",
      /^the update refuses to change its configuration from adopted to owned in one step$/,
    ],
    ["omni", "adopted", "no", /^the update refuses/],
    ["owned", "adopted", "only if", /^the change from owned to adopted alters its configuration$/],
  ];
  test.each(changeCases)(
    "from %s to %s is previewed with reboots: %s",
    (previous, next, reboots, because) => {
      const previousState = { ...state, configuration: previous };
      const nextState = { ...state, configuration: next };
      expect(effectOf(previousState, nextState)).toMatchObject({
        reboots,
        because: expect.stringMatching(because),
      });
    },
  );
});

interface DrainCase {
  title: string;
  /** Talos version of the previous update. Default: there was none. */
  previousVersion?: string;
  newVersion: string;
  /** runningVersion in the stack. Default: none. */
  runningVersion?: string;
  drained: string;
}

test.each<DrainCase>([
  {
    title: "Talos drains in an upgrade from 1.12",
    previousVersion: "v1.12.6",
    newVersion: "v1.13.0",
    drained: "by Talos itself",
  },
  {
    title: "Talos drains in an upgrade from the 1.12 of runningVersion",
    newVersion: "v1.13.0",
    runningVersion: "v1.12.6",
    drained: "by Talos itself",
  },
  {
    title: "Talos drains in a first update to 1.12",
    newVersion: "v1.12.6",
    drained: "by Talos itself",
  },
  {
    title: "Talos may drain in a first update to 1.13",
    newVersion: "v1.13.0",
    drained: "by Talos itself, if the machine runs Talos 1.12 or older",
  },
  {
    title: "no drain is part of an upgrade from 1.13",
    previousVersion: "v1.13.0",
    newVersion: "v1.13.9",
    runningVersion: "v1.12.6",
    drained: "no",
  },
  {
    title: "no drain is part of an update without an upgrade",
    previousVersion: "v1.12.6",
    newVersion: "v1.12.6",
    drained: "no",
  },
])(
  "if the stack turns drains off, $title",
  ({ previousVersion, newVersion, runningVersion, drained }) => {
    const { rebootsIfChanged, ...rest } = machineStates(planOf("velaryon"))["velaryon"]!;
    const stateWith = (talosVersion: string, parts = {}) => ({
      ...rest,
      drainedBeforeReboot: "no",
      rebootsIfChanged: { ...rebootsIfChanged, talosVersion, parts },
    });
    const previousState =
      previousVersion === undefined
        ? undefined
        : stateWith(previousVersion, { "machine.files": "1" });
    const effect = effectOf(previousState, {
      ...stateWith(newVersion),
      ...(runningVersion === undefined ? {} : { runningVersion }),
    });
    expect(effect.drained).toBe(drained);
    expect(describeEffect(effect)).toContain(
      drained === "no" ? "; it is not drained" : `; it is then drained ${drained}`,
    );
  },
);

test("a change from one custom installer image to another reboots the machine", () => {
  const stateWith = (installerImage: string) =>
    machineStates(
      planCluster(stackOfOneMachine("v1.13.6", { installerImage, gpus: [{ model: "RTX 3090" }] })),
    )["gpu"]!;
  const previousState = stateWith("registry.example.com/talos/installer:a");
  const newState = stateWith("registry.example.com/talos/installer:b");
  expect(effectOf(previousState, newState)).toMatchObject({
    reboots: "yes",
    because: expect.stringMatching(/installerImage: .*:a → .*:b/),
  });
});
