import type { Finding } from "../../components/recipe/index";

/** Something that an import leaves to the user. */
export type Note = Omit<Finding, "check">;
