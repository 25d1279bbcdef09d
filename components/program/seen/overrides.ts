import { containerdOverrides, fieldOverrides } from "../../recipe/machine/documents/overrides";
import { documentsOf } from "../../recipe/merge/wanted";

/**
 * What of a machine's configuration has no effect, since another document of it wins: it may have been added after the update that
 * brought the rest. In words, one for each.
 */
export function overriddenIn(configuration: string): string[] {
  const documents = new Map(documentsOf(configuration));
  return [...fieldOverrides(documents), ...containerdOverrides(documents)].map(
    ({ key, wins, loses }) => `${wins} and ${loses} both say ${key}, and Talos lets ${wins} win`,
  );
}
