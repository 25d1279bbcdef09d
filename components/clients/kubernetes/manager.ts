/**
 * Field manager of every object that a stack creates, for Pulumi and for the machine program: the API server sees one
 * owner of the fields. So Pulumi's next update can change and remove objects that the program restored. Until an
 * object's first update, its fields belong to the manager of Pulumi's provider; that update gives all fields to this
 * manager.
 */
export const MANAGER = "talos-gpu";
