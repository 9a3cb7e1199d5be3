/**
 * The address to open after a sign-in, always on this server. `//other.example` would lead
 * elsewhere, even with a tab between the slashes.
 */
export function backAddress(back: string | undefined): string {
  if (back === undefined || !/^\/(?![/\\])\S*$/.test(back)) return '/';
  return /^\/(?:sign-in|link)(?:[/?#]|$)/.test(back) ? '/' : back;
}
