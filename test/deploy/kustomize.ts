import { readFileSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { parseAllDocuments, parseDocument } from 'yaml';

/**
 * The parts of kustomize that deploy/kubernetes uses, for machines without kustomize: resources,
 * namespace, and ConfigMaps of files. Anything else in a kustomization is an error.
 */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels };
  readonly [field: string]: unknown;
}

export type Labels = Readonly<Record<string, string>>;

interface Kustomization {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly resources?: readonly string[];
  readonly configMapGenerator?: readonly Generator[];
}

interface Generator {
  readonly name: string;
  readonly files: readonly string[];
  readonly options: { readonly disableNameSuffixHash: true };
}

const KNOWN = new Set(['apiVersion', 'kind', 'namespace', 'resources', 'configMapGenerator']);
/** Kinds that belong to no namespace. */
const CLUSTER_WIDE = new Set(['Namespace']);

export function renderKustomization(folder: string): Manifest[] {
  const file = join(folder, 'kustomization.yaml');
  const kustomization: Kustomization = parseDocument(readFileSync(file, 'utf8')).toJS();
  const unknown = Object.keys(kustomization).filter((name) => !KNOWN.has(name));
  if (unknown.length > 0) throw new Error(`${file}: ${unknown.join(', ')} cannot be rendered here`);
  const found = (kustomization.resources ?? []).flatMap((name) => readResource(resolve(folder, name)));
  const made = (kustomization.configMapGenerator ?? []).map((generator) => configMap(folder, generator));
  const { namespace } = kustomization;
  return [...found, ...made].map((manifest) =>
    namespace === undefined || CLUSTER_WIDE.has(manifest.kind)
      ? manifest
      : { ...manifest, metadata: { ...manifest.metadata, namespace } },
  );
}

function readResource(path: string): Manifest[] {
  if (statSync(path).isDirectory()) return renderKustomization(path);
  return parseAllDocuments(readFileSync(path, 'utf8'), { uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors[0]?.message}`);
    return document.toJS() as Manifest;
  });
}

function configMap(folder: string, { name, files, options }: Generator): Manifest {
  if (!options.disableNameSuffixHash) throw new Error(`${name}: names with a hash cannot be rendered here`);
  const data = files.map((entry) => {
    const [key, path = key] = entry.includes('=') ? entry.split('=') : [basename(entry), entry];
    // Like kustomize, refuses files outside the folder.
    if (relative(folder, resolve(folder, path ?? '')).startsWith('..')) throw new Error(`${path} is outside`);
    return [key, readFileSync(resolve(folder, path ?? ''), 'utf8')] as const;
  });
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: Object.fromEntries(data) };
}
