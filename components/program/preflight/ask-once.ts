/** Wraps a function so that it is called once for each argument; equal calls share one answer. */
export function askOnce<T>(
  ask: (question: string) => Promise<T>,
): (question: string) => Promise<T> {
  const answers = new Map<string, Promise<T>>();
  return (question) => {
    const knownAnswer = answers.get(question);
    if (knownAnswer !== undefined) return knownAnswer;
    const answer = ask(question);
    answers.set(question, answer);
    return answer;
  };
}
