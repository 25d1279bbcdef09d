import { allPatches, type Check } from "./check";

export const patchDelete: Check = {
  id: "patch-delete",
  source:
    "siderolabs/docs, patching (`$patch: delete`); merging into an adopted configuration only adds, so that it can be taken back",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) => {
      const adopted = machines.filter((machine) => machine.spec.configuration === "adopted");
      if (adopted.length === 0 || !/^\s*["']?\$patch["']?\s*:/m.test(patch.text)) return [];
      return [
        {
          field: patch.field,
          problem: `deletes ($patch), and ${adopted[0]?.name} is adopted`,
          why: "into a configuration of somebody else this package only merges: it could not give back what a patch deleted",
          remedy: "delete it where the configuration is made",
        },
      ];
    }),
};
