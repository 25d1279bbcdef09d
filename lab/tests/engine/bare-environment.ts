/** Environment of a CLI without this computer's user: its home and its file backend are in a folder. */
export const bareEnvironment = (
  folder: string,
  variables: NodeJS.ProcessEnv = {},
): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  HOME: folder,
  PULUMI_BACKEND_URL: `file://${folder}`,
  PULUMI_CONFIG_PASSPHRASE: "x",
  PULUMI_SKIP_UPDATE_CHECK: "true",
  ...variables,
});
