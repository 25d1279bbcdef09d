/**
 * The anchor that GitHub gives a heading: lower case, no punctuation, dashes for blanks. VitePress' own rule differs (`Pulumi's` gives
 * `pulumi-s`), so a link that works on GitHub would be dead on the site.
 */
export const slugOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
