import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { DAY_MS } from '#core/clock.ts';
import type { ListenConfig } from '#core/config/gateway-config.ts';
import { formatAddress } from '#core/config/network-names.ts';
import { checkServerCertificate } from '#core/config/server-certificate.ts';
import { countOf } from '#core/count-of.ts';
import { loopbackFor } from '#core/net/loopback.ts';
import { type Finding, ok, problem, skipped, warning } from './check.ts';

/** Certificates are usually renewed a month ahead, so one that ends this soon is overdue. */
const SOON_DAYS = 14;
const CONNECT_MS = 3_000;

/** Checks the API's certificate: dates, key, and whether Envoy, maybe elsewhere, serves it. */
export async function lookAtCertificate(
  { api, tls }: ListenConfig,
  envoyHost = loopbackFor(api.host),
): Promise<readonly Finding[]> {
  const check = 'certificate';
  if (tls === undefined) return [ok(check, 'the API is served without TLS: a load balancer has to add it')];
  const [wrong] = await checkServerCertificate(tls.certificatePath, tls.privateKeyPath);
  if (wrong !== undefined) {
    const found = `listen.tls.${wrong.field} ${wrong.message}`;
    return [problem(check, found, 'Put a certificate and its key there.')];
  }
  const certificate = new X509Certificate(await readFile(tls.certificatePath));
  const expiry = expiryFinding(check, certificate.validToDate);
  const names = (certificate.subjectAltName ?? certificate.subject).replaceAll('DNS:', '');
  const begun = certificate.validFromDate.getTime() <= Date.now();
  return [
    begun
      ? { ...expiry, found: `${expiry.found} (${names})` }
      : problem(check, `valid only from ${certificate.validFrom}`, 'Check the clock of this machine.'),
    await servedFinding(envoyHost, api.port, certificate),
  ];
}

export function expiryFinding(check: string, validTo: Date, nowMs = Date.now()): Finding {
  const days = Math.floor((validTo.getTime() - nowMs) / DAY_MS);
  const found = `valid until ${validTo.toISOString().slice(0, 10)}, ${countOf(days, 'day')}`;
  if (days < 0) return problem(check, `expired on ${validTo.toISOString().slice(0, 10)}`, 'Renew it.');
  return days < SOON_DAYS ? warning(check, found, 'Renew it.') : ok(check, found);
}

async function servedFinding(host: string, port: number, expected: X509Certificate): Promise<Finding> {
  const check = 'certificate served';
  const served = await servedFingerprint(host, port);
  if (served === undefined) return skipped(check, `${formatAddress({ host, port })} does not answer with TLS`);
  if (served === expected.fingerprint256) return ok(check, 'Envoy serves the one in the file');
  const advice = 'The gateway process has Envoy read a new pair within seconds; see its log and that of Envoy.';
  return problem(check, 'Envoy serves another one than the file has', advice);
}

function servedFingerprint(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    // Not verified, because the certificate names the public host instead of this address.
    const socket = connect({ host, port, timeout: CONNECT_MS, rejectUnauthorized: false });
    const end = (fingerprint: string | undefined) => {
      socket.destroy();
      resolve(fingerprint);
    };
    socket.once('secureConnect', () => end(socket.getPeerX509Certificate()?.fingerprint256));
    socket.once('timeout', () => end(undefined));
    socket.once('error', () => end(undefined));
  });
}
