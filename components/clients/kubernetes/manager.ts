/**
 * Field manager of every object that a stack creates, for Pulumi and for the machine program: the API server sees one
 * owner of the fields. So Pulumi's next update can change and remove objects that the program restored. Until its first
 * update, an object has the manager of Pulumi's provider; that update passes all fields on.
 */
export const MANAGER = "talos-gpu";
