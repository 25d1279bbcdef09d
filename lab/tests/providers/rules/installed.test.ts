import {
  findInstalledPlugin,
  InstalledProvider,
} from "../../../../tests/support/plugins/installed";
import { of, refused, taken, takes } from "./cases";

// Tries the cases of the lab's providers on the real providers, if they are installed. The real answers are the right
// ones.

describe.each(["talos", "command"])("the installed %s provider", (name) => {
  const file = findInstalledPlugin(name);
  const where = file === undefined ? test.skip : test;
  let provider: InstalledProvider | undefined;
  beforeAll(
    async () => void (provider = file === undefined ? file : await InstalledProvider.start(file)),
  );
  afterAll(() => provider?.stop());

  where.each([
    ...of(name, refused).map(([rule, type, inputs]) => [rule, type, inputs, false] as const),
    ...of(name, taken).map((one) => [...one, true] as const),
  ])("has the same answer to %s of %s, %j: accepted is %s", async (_rule, type, inputs, right) => {
    expect(await takes(provider!.check(type, inputs))).toBe(right);
  });
});
