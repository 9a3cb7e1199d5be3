import type { Labels, Manifest } from './kustomize.ts';

/** The parts that tests read of the pods that manifests create. */
export interface Pod {
  /** Name of the manifest that creates the pod. */
  readonly name: string;
  readonly labels: Labels;
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly securityContext: object;
  readonly automountServiceAccountToken?: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly dnsConfig?: object;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly {
    readonly name: string;
    readonly configMap?: { readonly name: string };
    readonly secret?: { readonly secretName: string };
  }[];
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly restartPolicy?: string;
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string } };
  }[];
  readonly ports?: readonly { readonly containerPort: number }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly livenessProbe?: object;
  readonly resources: {
    readonly requests: { readonly cpu?: string; readonly memory?: string };
    readonly limits: { readonly memory?: string };
  };
  readonly securityContext: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export function podsOf(manifests: readonly Manifest[]): Pod[] {
  return manifests.flatMap(({ metadata, spec }) => {
    const template = (spec as { template?: { metadata: { labels: Labels }; spec: PodSpec } } | undefined)?.template;
    return template ? [{ name: metadata.name, labels: template.metadata.labels, spec: template.spec }] : [];
  });
}

export function containersOf(spec: PodSpec): Container[] {
  return [...spec.containers, ...(spec.initContainers ?? [])];
}
