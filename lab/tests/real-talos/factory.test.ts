import { systemClock } from "../../../components/clients/clock";
import { sizesOf } from "../../../components/program/preflight/boot-images";
import { placesOf, RealWeb } from "../../../components/program/preflight/web";
import { officialExtensions } from "../../factory";
import { openWorkspace, type Workspace } from "../../session/session";
import { provideTalos, releases, type ImageFactory } from "../../talos";
import { sendAllRequests } from "../factory/send-requests";
import { RELEASE, reasonsToSkip } from "./test-bed";

const reasons = reasonsToSkip(["1", ...releases]).join("; ");
if (reasons !== "") console.warn(`the real Image Factory: skipped: ${reasons}`);

/** The real Image Factory. The emulated one gives the same recorded answers (lab/tests/factory/answers.ts). */
(reasons === "" ? describe : describe.skip)("the Image Factory", () => {
  let workspace: Workspace;
  let factory: ImageFactory;
  beforeAll(async () => {
    workspace = openWorkspace();
    factory = await (await provideTalos(RELEASE)).factory(`${workspace.dir}/factory`);
  });
  afterAll(async () => {
    await factory?.stop();
    await workspace.remove();
  });

  test("gives the recorded answers, and makes an installer", async () => {
    const { answers, recordedAnswers } = await sendAllRequests(factory.url, RELEASE);
    expect(answers).toEqual(recordedAnswers);
    expect(factory.errors.filter((error) => /generating|pushing|signing/.test(error))).toEqual([]);
  });

  test("gives an installer for which the preflight reads the size of the UKI, within 5 %", async () => {
    const schematic = await factory.register("customization: {}");
    const sizeOf = sizesOf(
      new RealWeb(systemClock, {}),
      placesOf({ TALOS_GPU_FACTORY: factory.url }),
    );
    const size = await sizeOf(`factory.talos.dev/metal-installer/${schematic}:${RELEASE}`);
    const image = await fetch(`${factory.url}/image/${schematic}/${RELEASE}/metal-amd64-uki.efi`);
    const ukiSize = (await image.arrayBuffer()).byteLength;
    // The layer also has systemd-boot, and gzip makes it a little smaller.
    expect(size! / ukiSize).toBeGreaterThan(0.95);
    expect(size! / ukiSize).toBeLessThan(1.05);
  });

  test.each([RELEASE, RELEASE.slice(1)])(
    "lists extensions of %s in the same form as the emulated Image Factory",
    async (version) => {
      const response = await fetch(`${factory.url}/version/${version}/extensions/official`);
      const realExtensions = (await response.json()) as { name: string; digest: string }[];
      const emulatedExtensions = officialExtensions(RELEASE).filter(({ name }) =>
        realExtensions.some((extension) => extension.name === name),
      );
      const withoutDigest = ({ digest, ...rest }: { digest: string }): object => [
        /^sha256:\w{64}$/.test(digest),
        rest,
      ];
      expect(realExtensions.length).toBeGreaterThan(3);
      expect(realExtensions.map(withoutDigest)).toEqual(emulatedExtensions.map(withoutDigest));
    },
  );
});
