import { factoryAt } from "../../../recipe/facts/factory";

/** Where servers are, when not where a stack says. */
export interface Places {
  /** A chart repository; undefined: it is not to be asked. */
  charts(repository: string): string | undefined;
  /** The server of an installer image, with its scheme. */
  registry(host: string): string;
}

/** Servers by the environment: TALOS_GPU_CHARTS (a mirror that has a folder for each repository's address, or `none`) and TALOS_GPU_FACTORY. */
export function placesOf(environment: NodeJS.ProcessEnv): Places {
  const { TALOS_GPU_CHARTS: charts } = environment;
  const path = (repository: string): string => repository.replace(/^[a-z]+:\/\//, "");
  return {
    charts: (repository) => {
      if (charts === "none") return undefined;
      const base = charts ? `${charts.replace(/\/+$/, "")}/${path(repository)}` : repository;
      return base.replace(/\/+$/, "");
    },
    registry: (host) => factoryAt(`https://${host}`, environment),
  };
}
