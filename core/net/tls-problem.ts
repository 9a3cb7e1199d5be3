/** Describes a TLS problem between client and server. `undefined`: it has another cause. */
export function tlsProblem(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? String(error.code) : '';
  return REASONS.find(([pattern]) => pattern.test(`${code} ${error.message}`))?.[1];
}

/** Patterns of Node's error codes, then of OpenSSL's texts, with the text to show instead. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/WRONG_VERSION_NUMBER|wrong version number|packet length too long/i, 'the server speaks no TLS at this port'],
  [/does not support SSL connections/, 'the server has TLS switched off'],
  [/CERT_HAS_EXPIRED|certificate has expired/, "the server's certificate has expired"],
  [/CERT_NOT_YET_VALID|not yet valid/, "the server's certificate is not valid yet; compare the clocks"],
  [/ALTNAME_INVALID|altnames/, "the server's certificate is for other names than the host in the URL (altnames)"],
  [
    /SELF_SIGNED|self-signed|UNABLE_TO_(?:GET_ISSUER|VERIFY)|unable to (?:get|verify)/i,
    "the server's certificate is signed by nobody whom this machine trusts (self-signed, or an authority of your own)",
  ],
  [/CERTIFICATE_REQUIRED|certificate required|alert number 116/i, 'the server asks for a certificate of its client'],
  [/alert unknown ca|UNKNOWN_CA|alert bad certificate/i, "the server does not trust this client's certificate"],
  [
    /UNSUPPORTED_PROTOCOL|protocol version|HANDSHAKE_FAILURE|handshake failure/i,
    'client and server have no version or cipher of TLS in common',
  ],
  [/\berror:[0-9A-F]{8}:|SSL routines/, 'TLS could not be agreed upon'],
];
