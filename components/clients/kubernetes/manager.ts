/**
 * Field manager with which both Pulumi and the machine program apply a stack's objects. So Pulumi's next update can
 * change and remove objects that the program restored. Pulumi's provider creates an object with a field manager of the
 * provider's own. The object's first update gives all fields to this manager.
 */
export const MANAGER = "talos-gpu";
