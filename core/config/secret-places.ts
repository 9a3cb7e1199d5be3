import type { Path } from './yaml-tree.ts';

/**
 * Process that loads the configuration, by the secrets that it has. `gateway`: those that it sends
 * to providers and the collector. `dashboard`: those of its own sections. `checked` (supervisor,
 * check-config): missing secrets are reported, and none is kept. `none`: secrets are not read.
 */
export type Secrets = 'gateway' | 'dashboard' | 'checked' | 'none';

const SENT: readonly (readonly string[])[] = [
  ['providers', '*', 'api_key'],
  ['providers', '*', 'query', '*'],
  ['providers', '*', 'headers', '*'],
  ['providers', '*', 'auth', 'aws', 'access_key_id'],
  ['providers', '*', 'auth', 'aws', 'secret_access_key'],
  ['providers', '*', 'auth', 'aws', 'session_token'],
  ['providers', '*', 'auth', 'oauth2', 'client_id'],
  ['providers', '*', 'auth', 'oauth2', 'client_secret'],
  ['tracing', 'headers', '*'],
];
const REDIS = [['stores', 'redis']];
/** Required by rules.ts, not by the schema: a process that only checks files keeps no content. */
const OF_DASHBOARD = [
  ['mail', 'smtp_url'],
  ['sign_in', 'oidc', 'client_secret'],
  ['payments', 'stripe', 'secret_key'],
  ['payments', 'stripe', 'webhook_secret'],
];

/** Sections for the dashboard alone. Other processes ignore them, and need no variables of them. */
export const DASHBOARD_SECTIONS: readonly string[] = ['mail', 'webhooks', 'sign_in', 'payments'];

export function isOfDashboard(path: Path): boolean {
  return DASHBOARD_SECTIONS.includes(String(path[0]));
}

/** True for a value that this process does not read. The dashboard needs no Redis. */
export function isUnread(path: Path, secrets: Secrets): boolean {
  if (secrets === 'checked') return false;
  if (secrets !== 'dashboard' && isOfDashboard(path)) return true;
  return secrets !== 'gateway' && isAmong([...SENT, ...REDIS], path);
}

/** True for a secret whose presence is checked, but whose content is not kept. */
export function isOnlyChecked(path: Path, secrets: Secrets): boolean {
  return secrets === 'checked' && isAmong([...SENT, ...OF_DASHBOARD], path);
}

/** True for a secret of a process other than the dashboard. */
export function isSecretElsewhere(path: Path): boolean {
  return isAmong([...SENT, ...REDIS], path);
}

function isAmong(places: readonly (readonly string[])[], path: Path): boolean {
  return places.some(
    (place) => place.length === path.length && place.every((part, at) => part === '*' || part === path[at]),
  );
}
