import {
  findInstalledPlugin,
  InstalledProvider,
} from "../../../../tests/support/plugins/installed";
import { casesOf, refusedCases, acceptedCases, isAccepted } from "./cases";

// Tries the cases of the lab's providers on the real providers, if they are installed. The real answers are the right
// ones.

describe.each(["talos", "command"])("the installed %s provider", (name) => {
  const file = findInstalledPlugin(name);
  const testIfInstalled = file === undefined ? test.skip : test;
  let provider: InstalledProvider | undefined;
  beforeAll(
    async () => void (provider = file === undefined ? file : await InstalledProvider.start(file)),
  );
  afterAll(() => provider?.stop());

  testIfInstalled.each([
    ...casesOf(name, refusedCases).map(
      ([rule, type, inputs]) => [rule, type, inputs, false] as const,
    ),
    ...casesOf(name, acceptedCases).map((acceptedCase) => [...acceptedCase, true] as const),
  ])(
    "has the same answer to %s of %s, %j: accepted is %s",
    async (_rule, type, inputs, expectedAnswer) => {
      expect(await isAccepted(provider!.check(type, inputs))).toBe(expectedAnswer);
    },
  );
});
