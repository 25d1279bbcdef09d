import { otherAnswers, refusedSchematics, takenSchematics } from "./answers";

/**
 * Sends all requests of answers.ts to a Factory.
 *
 * @param release a release that the Factory has
 * @param ownWords whether the Factory may use its own messages about refused schematics
 * @returns each request with the Factory's answer (`came`), and with the real Factory's answer (`real`)
 */
export async function asked(
  url: string,
  release: string,
  ownWords = false,
): Promise<{ came: string[]; real: string[] }> {
  const requests = otherAnswers(release);
  const real = [
    ...takenSchematics.map(({ schematic, id }) => `${schematic}: 201 application/json ${id}`),
    ...refusedSchematics.map(({ schematic, words }) => {
      const problem = words === "EOF" ? words : `yaml: construct errors:\n  ${words}`;
      return `${schematic}: 400 text/plain; charset=utf-8 ${ownWords ? "" : problem}`;
    }),
    ...requests.map(([request, answer]) => `${request}: ${answer}`),
  ];
  const ask = async (request: string, body?: string): Promise<string> => {
    const isRefused = refusedSchematics.some(({ schematic }) => schematic === body);
    const [method, route] = request.split(" ") as [string, string];
    const answer = await fetch(url + route, { method, ...(body === undefined ? {} : { body }) });
    const words = (await answer.text()).trimEnd();
    const said =
      answer.status === 201
        ? (JSON.parse(words) as { id: string }).id
        : isRefused && ownWords
          ? ""
          : words;
    return `${body ?? request}: ${answer.status} ${answer.headers.get("content-type") ?? ""} ${said}`;
  };
  const came: string[] = [];
  for (const { schematic } of [...takenSchematics, ...refusedSchematics])
    came.push(await ask("POST /schematics", schematic));
  for (const [request] of requests) came.push(await ask(request));
  return { came, real };
}
