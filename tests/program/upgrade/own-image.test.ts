import { upgrade } from "../../../components/program/upgrade/upgrade";
import { ownSchematic } from "../../../components/recipe/machine/schematic";
import { schematics } from "../fakes";
import { errorMessageOf, setupUpgrade, STAGED } from "../setup";

describe("the user's own image, which no schematic describes", () => {
  const installerImage = `registry.example.com/own/${schematics.gpu}:v1.12.6`;
  const ownImageTask = {
    installerImage,
    ownImage: true,
    schematicId: ownSchematic(installerImage).id,
  };
  const configurationWithImage = `${STAGED}  install: { image: "${installerImage}" }\n`;

  test("is installed once, and recognized by the active configuration after that", async () => {
    const { machine, context, task, run } = setupUpgrade(ownImageTask);
    machine.persistent = configurationWithImage;
    machine.runningImage = { ...machine.runningImage, extensions: { "own-storage": "1" } }; // without a schematic, the losses are unknown
    expect(await run()).toMatchObject({
      rebooted: true,
      schematicId: ownImageTask.schematicId,
      driverVersion: "570.211.01",
    });
    expect(machine.calls).toEqual([`pull ${installerImage}`, "upgrade legacy"]);
    expect(await upgrade({ ...task, configurationHash: "2" }, context)).toMatchObject({
      rebooted: false,
    });
  });

  test("is not installed again if the machine already runs it", async () => {
    const { machine, run } = setupUpgrade(ownImageTask);
    Object.assign(machine, {
      talosVersion: "v1.12.6",
      schematicId: schematics.gpu,
      active: configurationWithImage,
      persistent: configurationWithImage,
    });
    expect(await run()).toMatchObject({ rebooted: false });
  });

  test("is reported if it has no driver or does not boot", async () => {
    const imageWithoutDriver = `registry.example.com/own/${schematics.plain}:v1.12.6`;
    const { machine, run } = setupUpgrade({ ...ownImageTask, installerImage: imageWithoutDriver });
    machine.persistent = configurationWithImage.replace(installerImage, imageWithoutDriver);
    expect(await errorMessageOf(run())).toMatch(/kernel modules.* not loaded|no NVIDIA driver/);
    const rolledBack = setupUpgrade(ownImageTask);
    rolledBack.machine.persistent = configurationWithImage;
    rolledBack.machine.afterCall = (call) => {
      if (call.startsWith("upgrade")) rolledBack.machine.install(`x/${schematics.plain}:v1.12.4`);
    };
    expect(await errorMessageOf(rolledBack.run())).toMatch(/Talos rolled back, .* \(v1\.12\.4\)/);
  });
});
