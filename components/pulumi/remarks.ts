import * as pulumi from "@pulumi/pulumi";
import { renderFinding } from "../recipe";
import { inLine } from "../recipe/rules/printable";
import type { Finding } from "../recipe/types";

/**
 * Shows warnings and notes as messages of a resource: a warning in Pulumi's diagnostics, a note as an informational
 * line.
 */
export function showRemarks(resource: pulumi.Resource, remarks: readonly Finding[]): void {
  for (const remark of remarks) {
    const text = inLine(renderFinding(remark));
    void (remark.severity === "note"
      ? pulumi.log.info(text, resource)
      : pulumi.log.warn(text, resource));
  }
}
