import * as path from "node:path";

/** The folder of the tables of facts. */
export const tablesFolder = path.resolve(__dirname, "../../components/recipe/facts/data");

/** Path of a table's file, from its name. */
export const tableFile = (name: string): string => path.join(tablesFolder, name);
