/** Factor of a suffix. Source: kubernetes v1.36.3, staging/src/k8s.io/apimachinery/pkg/api/resource/suffix.go. */
const factors = new Map<string, number>([
  ...["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, index): [string, number] => [
    suffix,
    1024 ** (index + 1),
  ]),
  ...["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map((suffix, index): [string, number] => [
    suffix,
    1000 ** (index - 3),
  ]),
]);

/**
 * Value of a Kubernetes quantity, e.g. `100Gi`, `0.5Gi`, `500m`, `1e3`; undefined for any other text. The value is
 * exact enough for comparisons. Kubernetes accepts values up to 2^63-1. Source: kubernetes v1.36.3,
 * staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go (parseQuantityString).
 */
export function quantityValue(text: string): number | undefined {
  if (text.length > 64) return undefined;
  const parts = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][-+]?\d+)|([A-Za-z]*))$/.exec(text);
  if (!parts) return undefined;
  const [, sign, digits, exponent, suffix = ""] = parts;
  const factor = exponent === undefined ? factors.get(suffix) : 10 ** Number(exponent.slice(1));
  return factor === undefined ? undefined : Number(digits) * factor * (sign === "-" ? -1 : 1);
}
