import * as fs from "node:fs/promises";
import * as path from "node:path";
import { helpers } from "../../components/recipe/facts/data/images.json";
import { digestOf } from "./registries";
import { inTurn } from "./renew-images";
import { tablesFolder } from "./tables";

/**
 * Renews the pinned digests of a table's images whose registry now has a new image for the tag. Returns a line for
 * each. If a registry does not answer, the digest stays, and its line says why.
 *
 * @param folder Folder of the tables.
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
      const previousText = await fs.readFile(table, "utf8");
      await fs.writeFile(table, previousText.replace(`"${image}"`, `"${tag}@${served}"`));
      return `${tag}: ${digest} → ${served}`;
    },
  );
