/** Where to go after signing in: a page of ours, whatever the address says. `//other.example` would be somebody else's, with a tab between too. */
export function backAddress(back: string | undefined): string {
  if (back === undefined || !/^\/(?![/\\])\S*$/.test(back)) return '/';
  return /^\/(?:sign-in|link)(?:[/?#]|$)/.test(back) ? '/' : back;
}
