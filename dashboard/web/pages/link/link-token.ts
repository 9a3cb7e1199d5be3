/**
 * The token of a link to set a password: `/link#TOKEN`. A fragment is never sent, so no log and no referrer has it. It is taken out of the
 * address at once, so that neither history nor a glance at the screen gives it away; a reload then needs the link again.
 */
export function takeLinkToken(): string {
  const token = decodeURIComponent(location.hash.slice(1));
  if (token !== '') history.replaceState(history.state, '', location.pathname);
  return token;
}
