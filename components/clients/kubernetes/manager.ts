/**
 * Field manager of every object that a stack makes, for Pulumi as for our program: to the API server one manager is one owner of fields.
 * So Pulumi's next update changes and removes what the program restored as if Pulumi had made it.
 * Until its first update an object has the manager by which Pulumi's provider creates: that update hands all fields on.
 */
export const MANAGER = "talos-gpu";
