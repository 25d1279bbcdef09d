import * as fs from "node:fs/promises";
import * as path from "node:path";
import { helpers } from "../../components/recipe/facts/data/images.json";
import { digestOf } from "./registries";
import { inTurn } from "./renew-images";
import { tablesFolder } from "./tables";

/**
 * Writes the digests of the images that a table pins, where their registry now has a new image behind the tag; gives
 * a line for each. A digest whose registry does not answer stays as it is, and its line says why.
 *
 * @param folder of the tables.
 */
export const renewDigests = (folder = tablesFolder): Promise<string[]> =>
  inTurn(
    Object.values(helpers).filter((image) => image.includes("@")),
    (image) => image,
    async (image) => {
      const [tag = "", digest] = image.split("@");
      const served = await digestOf(tag);
      if (served === undefined || served === digest) return undefined;
      const table = path.join(folder, "images.json");
      const before = await fs.readFile(table, "utf8");
      await fs.writeFile(table, before.replace(`"${image}"`, `"${tag}@${served}"`));
      return `${tag}: ${digest} → ${served}`;
    },
  );
