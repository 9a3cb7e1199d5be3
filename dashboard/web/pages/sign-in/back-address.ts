/**
 * Address after a sign-in, which is always our own. `//other.example` would lead elsewhere, even
 * with a tab in between.
 */
export function backAddress(back: string | undefined): string {
  if (back === undefined || !/^\/(?![/\\])\S*$/.test(back)) return '/';
  return /^\/(?:sign-in|link)(?:[/?#]|$)/.test(back) ? '/' : back;
}
