import { installed, InstalledProvider } from "../../../../tests/support/plugins/installed";
import { commandType, refusedByCommand, refusedByTalos, takenByCommand, takenByTalos, told } from "./cases";

// The real providers on the cases that the lab's are held to, wherever they are installed: they are the judges.

/** The provider, started before the tests of a block and ended after them; skips the block where it is not installed. */
function describeInstalled(name: string, tests: (provider: () => InstalledProvider) => void): void {
  const file = installed(name);
  (file === undefined ? describe.skip : describe)(`the installed ${name} provider`, () => {
    let provider: InstalledProvider;
    beforeAll(async () => void (provider = await InstalledProvider.start(file!)), 60_000);
    afterAll(() => provider.stop());
    tests(() => provider);
  });
}

describeInstalled("talos", (provider) => {
  test.each(refusedByTalos)("$rule ($source)", async ({ type, inputs, said }) => {
    expect(await told(provider().check(type, inputs))).toEqual([said]);
  });

  test.each(takenByTalos)("%s takes %j", async (type, inputs) => {
    expect(await provider().check(type, inputs)).toEqual([]);
  });
});

describeInstalled("command", (provider) => {
  test.each(refusedByCommand)("refuses %s (%s)", async (_rule, _source, inputs, said) => {
    expect(await told(provider().check(commandType, inputs))).toEqual([said]);
  });

  test.each(takenByCommand)("takes %j", async (inputs) => {
    expect(await provider().check(commandType, inputs)).toEqual([]);
  });
});
