/** Nothing of it stands in the URL: the log is read from its newest line on. */
export type AuditSearch = Readonly<Record<never, never>>;

export function auditSearch(): AuditSearch {
  return {};
}
