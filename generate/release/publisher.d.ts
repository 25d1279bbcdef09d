/** Account and name of a package's repository. */
export function publisherOf(manifest: { repository: { url: string } }): {
  owner: string;
  name: string;
};

/** Writes the account into every file of git that names the repository, and returns those files. */
export function publishBy(root: string, account: string): string[];
