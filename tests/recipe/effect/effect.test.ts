import { effectOf } from "../../../components/recipe/effect/effect";
import { machineStates } from "../../../components/recipe/effect/effects";
import { planOf } from "../../support/plans";

describe("a machine that the stack gives up", () => {
  const state = machineStates(planOf("velaryon"))["velaryon"]!;
  const words: [string, Partial<typeof state>, string, RegExp][] = [
    [
      "adopted, with a card",
      { configuration: "adopted" },
      "no",
      /removed, except the NVIDIA kernel modules, .* next boot/,
    ],
    ["owned", { configuration: "owned" }, "no", /^it is left as it is$/],
    ["Omni's", { configuration: "omni" }, "yes", /^Omni makes its image and its configuration without/],
  ];
  test.each(words)("%s", (_, said, reboots, because) => {
    expect(effectOf({ ...state, ...said }, undefined)).toMatchObject({
      reboots,
      because: expect.stringMatching(because),
    });
  });

  test("adopted, without a card: nothing of the stack's part stays", () => {
    const { driver: _, ...rest } = state;
    expect(effectOf({ ...rest, configuration: "adopted" }, undefined).because).not.toContain("kernel modules");
  });
});

describe("a machine whose configuration gets another owner", () => {
  const state = machineStates(planOf("velaryon"))["velaryon"]!;
  const words: [string, string, string, RegExp][] = [
    ["adopted", "owned", "no", /^the update refuses to change its configuration from adopted to owned in one step$/],
    ["omni", "adopted", "no", /^the update refuses/],
    ["owned", "adopted", "only if", /^with another owner/],
  ];
  test.each(words)("%s to %s", (was, is, reboots, because) => {
    const [before, after] = [was, is].map((configuration) => ({ ...state, configuration }));
    expect(effectOf(before, after)).toMatchObject({ reboots, because: expect.stringMatching(because) });
  });
});
