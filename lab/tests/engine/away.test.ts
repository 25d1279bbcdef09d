import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import { leftAsIs } from "../../../components/cluster/gpu-machines";
import { openTestLab } from "./lab";

jest.setTimeout(300_000);

test("the resources of a machine that is away are left, and follow once it is back", async () => {
  const lab = await openTestLab();
  const wanted = { task: "one", away: false };
  const program = (): Record<string, unknown> => {
    const machine = new pulumi.ComponentResource(
      "test:index:Machine",
      "machine",
      { task: wanted.task },
      {
        ...(wanted.away ? { transformations: [leftAsIs] } : {}),
      },
    );
    const run = new command.local.Command(
      "upgrade",
      { create: "cat", update: "cat", stdin: wanted.task },
      { parent: machine },
    );
    return { ran: run.stdout };
  };
  try {
    const engine = await lab.engine("away", () => Promise.resolve(program()));
    const ran = async (): Promise<unknown> => (await engine.up()).outputs["ran"]?.value;
    expect(await ran()).toBe("one");
    Object.assign(wanted, { task: "two", away: true });
    expect(await ran()).toBe("one");
    Object.assign(wanted, { away: false });
    expect(await ran()).toBe("two");
  } finally {
    await lab.close();
  }
});
