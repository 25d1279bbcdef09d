import { customizationPath } from "../../components/recipe/index";
import type { Problem as Note } from "../../components/recipe/rules/fault";
import type { NvidiaPart } from "./patch";

/** What is wrong where the file of containerd's parts is written more than once (the check containerd-part). */
export function writersNote(field: string, parts: NvidiaPart[]): Note[] {
  const items = parts.flatMap(({ containerdItems }) => containerdItems);
  if (items.length < 2) return [];
  const places = items.filter((place) => place !== undefined).join(", ");
  return [
    {
      field: `${field}.containerd`,
      problem: `the other tool writes ${customizationPath} ${items.length} times${places === "" ? "" : ` (${places})`}`,
      why: "up to Talos 1.13 the second item keeps the machine from booting, and from 1.14 on only the first one counts",
      remedy: "write all of it in one item of the other tool's files or patches",
    },
  ];
}
