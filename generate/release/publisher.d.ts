/** The account and the name of the repository that a package names. */
export function publisherOf(manifest: { repository: { url: string } }): {
  owner: string;
  name: string;
};

/** Writes the account into every file of git that names the repository; gives those files. */
export function publishBy(root: string, account: string): string[];
