import { otherAnswers, refusedSchematics, acceptedSchematics } from "./answers";

/**
 * Sends all requests of answers.ts to a Factory.
 *
 * @param release a release that the Factory has
 * @param ignoreMessages whether the Factory's messages about refused schematics may differ
 * @returns each request with this Factory's answer, and with the recorded answer of the real Factory
 */
export async function sendAllRequests(
  url: string,
  release: string,
  ignoreMessages = false,
): Promise<{ answers: string[]; recordedAnswers: string[] }> {
  const requests = otherAnswers(release);
  const recordedAnswers = [
    ...acceptedSchematics.map(({ schematic, id }) => `${schematic}: 201 application/json ${id}`),
    ...refusedSchematics.map(({ schematic, message }) => {
      const problem = message === "EOF" ? message : `yaml: construct errors:\n  ${message}`;
      return `${schematic}: 400 text/plain; charset=utf-8 ${ignoreMessages ? "" : problem}`;
    }),
    ...requests.map(([request, answer]) => `${request}: ${answer}`),
  ];
  const send = async (request: string, body?: string): Promise<string> => {
    const isRefused = refusedSchematics.some(({ schematic }) => schematic === body);
    const [method, route] = request.split(" ") as [string, string];
    const response = await fetch(url + route, { method, ...(body === undefined ? {} : { body }) });
    const text = (await response.text()).trimEnd();
    const content =
      response.status === 201
        ? (JSON.parse(text) as { id: string }).id
        : isRefused && ignoreMessages
          ? ""
          : text;
    return `${body ?? request}: ${response.status} ${response.headers.get("content-type") ?? ""} ${content}`;
  };
  const answers: string[] = [];
  for (const { schematic } of [...acceptedSchematics, ...refusedSchematics])
    answers.push(await send("POST /schematics", schematic));
  for (const [request] of requests) answers.push(await send(request));
  return { answers, recordedAnswers };
}
