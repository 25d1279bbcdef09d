import { containerdOverrides, fieldOverrides } from "../../recipe/machine/documents/overrides";
import { documentsOf } from "../../recipe/merge/wanted";

/**
 * Settings of a machine's configuration that have no effect, since another document overrides them: it may have been
 * added after the update that brought the rest. In words, one for each.
 */
export function overriddenIn(configuration: string): string[] {
  const documents = new Map(documentsOf(configuration));
  return [...fieldOverrides(documents), ...containerdOverrides(documents)].map(
    ({ key, wins, loses }) => `${wins} and ${loses} both say ${key}, and Talos lets ${wins} win`,
  );
}
