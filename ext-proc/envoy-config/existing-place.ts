import type { Document } from 'yaml';

/** A place in envoy.yaml. */
export type Path = readonly (string | number)[];

/** A place that the template no longer has is a bug, not something to add. */
export function setExisting(document: Document, path: Path, value: unknown): void {
  if (!document.hasIn(path)) throw new Error(`envoy.yaml has no ${path.join('.')}`);
  document.setIn(path, value);
}

/** A place that the template no longer has is a bug, too. */
export function deleteExisting(document: Document, path: Path): void {
  if (!document.deleteIn(path)) throw new Error(`envoy.yaml has no ${path.join('.')}`);
}
