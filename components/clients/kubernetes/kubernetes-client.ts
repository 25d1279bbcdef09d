/** What the machine program and the guard use of the client of Kubernetes: the build bundles it for both, into a file of its own. */
export {
  BatchV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  NodeV1Api,
  PatchStrategy,
  ResourceV1Api,
  setHeaderOptions,
  StorageV1Api,
} from "@kubernetes/client-node";
export { keepConnections } from "./keep-connections";
