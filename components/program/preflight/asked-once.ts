/** Lets equal questions of a run share one answer. */
export function askedOnce<T>(
  ask: (question: string) => Promise<T>,
): (question: string) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (question) => {
    const known = answers.get(question);
    if (known !== undefined) return known;
    const answer = ask(question);
    answers.set(question, answer);
    return answer;
  };
}
