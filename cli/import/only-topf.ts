/** Begins the reason of a template that cannot be rendered here. */
export const ofTemplate = "it is a template, and ";
/** The reason of a program that gives nodes. */
export const ofProgram = "it is a program, and none is run here";
/** How to have topf's own word. */
export const rendering = "run `topf render -o FOLDER`, where its secrets are";
