import * as fc from "fast-check";
import { formatDuration, parseDuration } from "../../components/recipe/rules/duration";

test.each([
  ["10m", 600_000],
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["1.5m", 90_000],
  ["250ms", 250],
])("the duration %s has %i ms", (text, milliseconds) =>
  expect(parseDuration(text)).toBe(milliseconds),
);

test.each(["", "10", "ten minutes", "10m and more", "-5m", "5 m"])(
  "%j is no duration, and the message names the field",
  (text) => expect(() => parseDuration(text, "timeouts.pull")).toThrow(/^timeouts\.pull: .*90s/),
);

test("a formatted duration is parsed to the same value", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1e9 }),
      (milliseconds) => parseDuration(formatDuration(milliseconds)) === milliseconds,
    ),
  );
});
