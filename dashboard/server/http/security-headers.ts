/** For every response. The page has nothing inline, loads from no other host and is not framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Outgoing links do not reveal the page that contains them.
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const YEAR_SECONDS = 31_536_000;

export function securityHeaders(isHttps: boolean): Readonly<Record<string, string>> {
  return isHttps ? { ...HEADERS, 'strict-transport-security': `max-age=${YEAR_SECONDS}` } : HEADERS;
}
