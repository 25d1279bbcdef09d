/* eslint-disable @typescript-eslint/no-namespace -- the published package has its types in namespaces */
import type * as outputs from "./output";

// Types of the provider's outputs.

export namespace cluster {
  /** Client certificate of the machine API, with its authority. */
  export interface KubeconfigClientConfiguration {
    /** Certificate of the authority, base64. */
    caCertificate: string;
    /** Certificate of the client, base64. */
    clientCertificate: string;
    /** Key of the client, base64. Secret. */
    clientKey: string;
  }

  /** The parts of a kubeconfig. */
  export interface KubeconfigKubernetesClientConfiguration {
    /** Certificate of the authority, base64. */
    caCertificate: string;
    /** Certificate of the client, base64. */
    clientCertificate: string;
    /** Key of the client, base64. Secret. */
    clientKey: string;
    /** URL of the Kubernetes API. */
    host: string;
  }

  /** How long steps may take. */
  export interface KubeconfigTimeouts {
    /** How long to create may take, a Go duration. Default: `10m`. */
    create?: string;
    /** How long to update may take, a Go duration. Default: `10m`. */
    update?: string;
  }
}

export namespace machine {
  /** How long steps may take. */
  export interface BootstrapTimeouts {
    /** How long to create may take, a Go duration. Default: `10m`. */
    create?: string;
  }

  /** A certificate and its key. */
  export interface Certificate {
    /** Certificate, base64. */
    cert: string;
    /** Private key, base64. Secret. */
    key: string;
  }

  /** Authorities of a cluster. */
  export interface Certificates {
    /** Authority of etcd. */
    etcd: outputs.machine.Certificate;
    /** Authority of Kubernetes. */
    k8s: outputs.machine.Certificate;
    /** Authority of Kubernetes' aggregation layer. */
    k8sAggregator: outputs.machine.Certificate;
    /** Key that signs service account tokens. */
    k8sServiceaccount: outputs.machine.Key;
    /** Authority of the machine API. */
    os: outputs.machine.Certificate;
  }

  /** Client certificate of the machine API, with its authority. */
  export interface ClientConfiguration {
    /** Certificate of the authority, base64. */
    caCertificate: string;
    /** Certificate of the client, base64. */
    clientCertificate: string;
    /** Key of the client, base64. Secret. */
    clientKey: string;
  }

  /** Identity of a cluster. */
  export interface Cluster {
    /** Identifier of the cluster, base64. */
    id: string;
    /** Secret with which members find each other, base64. Secret. */
    secret: string;
  }

  /** Changes to the machine when the resource is destroyed. */
  export interface ConfigurationApplyOnDestroy {
    /** Whether to leave etcd and drain the node first. Default: true. */
    graceful: boolean;
    /** Whether to reboot afterwards instead of halting. Default: false. */
    reboot: boolean;
    /** Whether to wipe the machine. Default: false; the other two fields then have no effect. */
    reset: boolean;
  }

  /** A private key. */
  export interface Key {
    /** Private key, base64. Secret. */
    key: string;
  }

  /** Secrets of the Kubernetes cluster. */
  export interface KubernetesSecrets {
    /** Key that encrypts Secrets at rest (older clusters). Secret. */
    aescbcEncryptionSecret?: string;
    /** Token with which kubelets join. Secret. */
    bootstrapToken: string;
    /** Key that encrypts Secrets at rest. Secret. */
    secretboxEncryptionSecret: string;
  }

  /** Secrets for generating the machine configurations of the cluster. */
  export interface MachineSecrets {
    /** Authorities. */
    certs: outputs.machine.Certificates;
    /** Identity of the cluster. */
    cluster: outputs.machine.Cluster;
    /** Secrets of Kubernetes. */
    secrets: outputs.machine.KubernetesSecrets;
    /** Secret of the machines' certificate service. */
    trustdinfo: outputs.machine.TrustdInfo;
  }

  /** How long steps may take. */
  export interface Timeout {
    /** How long to create may take, a Go duration. Default: `10m`. */
    create?: string;
    /** How long to delete may take, a Go duration. Default: `10m`. */
    delete?: string;
    /** How long to update may take, a Go duration. Default: `10m`. */
    update?: string;
  }

  /** Secret of the machines' certificate service. */
  export interface TrustdInfo {
    /** Token with which machines join. Secret. */
    token: string;
  }
}
