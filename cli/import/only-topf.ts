/** First words of the reason why a template cannot be rendered here. */
export const ofTemplate = "it is a template, and ";
/** The reason why the nodes of a `nodesProvider` are unknown. */
export const ofProgram = "it is a program, which this command does not run";
/** Remedy for everything that only topf can render. */
export const rendering =
  "run `topf render -o FOLDER` on the computer that has the cluster's secrets";
