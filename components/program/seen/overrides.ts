import { containerdOverrides, fieldOverrides } from "../../recipe/machine/documents/overrides";
import { documentsOf } from "../../recipe/merge/wanted";

/**
 * Sentences about settings of a machine's configuration that another document overrides; a user may have added that
 * document after the last update.
 */
export function overriddenIn(configuration: string): string[] {
  const documents = new Map(documentsOf(configuration));
  return [...fieldOverrides(documents), ...containerdOverrides(documents)].map(
    ({ key, wins, loses }) =>
      `${wins} and ${loses} both set ${key}, and Talos uses the value of ${wins}`,
  );
}
