import { lookup } from 'node:dns/promises';
import { connect as connectHttp2 } from 'node:http2';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import type { CaBundle, KeylessProvider } from '#core/config/gateway-config.ts';
import { expiryFinding } from './certificate.ts';
import { type Finding, ok, problem } from './check.ts';

const CONNECT_MS = 5_000;

/**
 * Checks host name, connection and certificate from this machine, as Envoy will use them, for each
 * endpoint, for the token endpoint and for the endpoint picker. Sends no request and no key. A
 * failure is no problem if no model uses the provider, or if Envoy chooses instead of the picker.
 */
export async function lookAtProvider(provider: KeylessProvider, isUsed: boolean): Promise<readonly Finding[]> {
  const { baseUrl, endpoints, endpointPicker, auth, trustedCa } = provider;
  const check = `provider ${provider.name}`;
  const field = endpoints === undefined ? 'base_url' : 'endpoints';
  const servers = (endpoints ?? [baseUrl]).map((url) => meetServer({ check, field, url, trustedCa }));
  if (auth?.kind === 'oauth2')
    servers.push(meetServer({ check: `${check} tokens`, field: 'token_url', url: auth.tokenUrl, trustedCa }));
  if (endpointPicker !== undefined) {
    const picker = { check: `${check} picker`, field: 'endpoint_picker', url: endpointPicker };
    servers.push(meetServer({ ...picker, isHttp2: true }).then(asWarnings));
  }
  const findings = (await Promise.all(servers)).flat();
  return isUsed ? findings : asWarnings(findings);
}

function asWarnings(findings: readonly Finding[]): readonly Finding[] {
  return findings.map((finding) => (finding.verdict === 'problem' ? { ...finding, verdict: 'warning' } : finding));
}

interface NamedServer {
  readonly check: string;
  /** Field of the configuration with this server. */
  readonly field: string;
  readonly url: URL;
  readonly trustedCa?: CaBundle | undefined;
  readonly isHttp2?: boolean;
}

async function meetServer({ check, field, url, trustedCa, isHttp2 }: NamedServer): Promise<readonly Finding[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const where = `${url.hostname}:${port}`;
  const addresses = isIP(host) === 0 ? await lookup(host, { all: true }).catch((error: Error) => error) : [host];
  if (addresses instanceof Error) {
    return [
      problem(check, `the name ${host} is not known: ${addresses.message}`, `Correct ${field}, or the name server.`),
    ];
  }
  const startedMs = performance.now();
  const met = await (secure ? meetTls(host, port, trustedCa) : isHttp2 ? meetHttp2(url) : meet(host, port));
  const tookMs = Math.round(performance.now() - startedMs);
  if (typeof met === 'string') {
    const advice = secure
      ? `Check ${field}, firewalls and proxies. A private CA belongs into the bundle of SSL_CERT_FILE.`
      : `Start it, or correct ${field}.`;
    return [problem(check, `${where}: ${met}`, advice)];
  }
  const answers = ok(
    check,
    `${where} answers in ${tookMs} ms${met === undefined ? ', without TLS' : ', its certificate is trusted'}`,
  );
  return met === undefined ? [answers] : [answers, expiryFinding(`${check} certificate`, new Date(met.valid_to))];
}

/** Waits for the connection, then closes it. Gives what `met` finds, or why there was none. */
function meeting<Met>(socket: Socket, event: 'connect' | 'secureConnect', met: () => Met): Promise<Met | string> {
  return new Promise((resolve) => {
    const end = (outcome: Met | string) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.once(event, () => end(met()));
    socket.once('timeout', () => end(`no connection in ${CONNECT_MS / 1000} s`));
    socket.once('error', (error) => end(reasonOf(error)));
  });
}

function meet(host: string, port: number): Promise<string | undefined> {
  return meeting(connect({ host, port, timeout: CONNECT_MS }), 'connect', () => undefined);
}

/** Connects, and waits for the first frame, which a server that hangs does not send. */
function meetHttp2({ origin }: URL): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = connectHttp2(origin);
    const end = (why: string | undefined) => {
      session.destroy();
      resolve(why);
    };
    session.setTimeout(CONNECT_MS, () => end(`no HTTP/2 connection in ${CONNECT_MS / 1000} s`));
    session.once('remoteSettings', () => end(undefined));
    session.once('error', (error) => end(reasonOf(error)));
    session.once('close', () => end('it closed the connection'));
  });
}

function meetTls(host: string, port: number, ca: CaBundle | undefined): Promise<PeerCertificate | string> {
  const socket = connectTls({
    host,
    port,
    timeout: CONNECT_MS,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['h2', 'http/1.1'],
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca: ca.pem }),
  });
  return meeting(socket, 'secureConnect', () => socket.getPeerCertificate());
}

/** The error itself has no message if several addresses were tried and all failed. */
function reasonOf(error: Error & { readonly errors?: readonly Error[] }): string {
  const reasons = error.errors?.map(({ message }) => message) ?? [error.message];
  return reasons.join('; ');
}
