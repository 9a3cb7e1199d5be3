import type { Document } from 'yaml';

/** A path in envoy.yaml. */
export type Path = readonly (string | number)[];

/** Sets a value. Throws if the template does not have the path, which is a bug. */
export function setExisting(document: Document, path: Path, value: unknown): void {
  if (!document.hasIn(path)) throw new Error(`envoy.yaml has no ${path.join('.')}`);
  document.setIn(path, value);
}

/** Deletes a node. Throws if the template does not have the path, which is a bug. */
export function deleteExisting(document: Document, path: Path): void {
  if (!document.deleteIn(path)) throw new Error(`envoy.yaml has no ${path.join('.')}`);
}
