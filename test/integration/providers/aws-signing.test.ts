import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { credentialsFolder } from '#ext-proc/envoy-config/provider-auth-filters.ts';
import { ClusterPublisher } from '#ext-proc/envoy-config/publish.ts';
import { callWith, clusterOf, configFrom, until } from '../../harness/cluster-fixture.ts';
import { eachProvider } from '../../harness/each-provider.ts';
import { startEnvoy } from '../../harness/envoy-process.ts';
import { showLogsOnFailure } from '../../harness/failure-logs.ts';
import { opened } from '../../harness/opened.ts';
import { type AwsIdentity, expectedAuthorization } from '../../provider/aws-signature.ts';
import { makeCertificate } from '../../provider/certificate.ts';
import type { FakeProvider } from '../../provider/fake-provider.ts';

/** Requests to providers with `auth.aws`, signed by a real Envoy as they are sent. */

const MIB = 1024 * 1024;
const FIRST: AwsIdentity = {
  ...{ region: 'eu-central-1', service: 'bedrock', accessKeyId: 'AKIDFIRST' },
  ...{ secretAccessKey: 'first/secret+sentinel=', sessionToken: 'first-session/token+sentinel==' },
};
const SECOND: AwsIdentity = {
  ...{ region: 'us-east-1', service: 'bedrock', accessKeyId: 'AKIDSECOND', secretAccessKey: 'secondsecretsentinel' },
};

const envoy = opened(startEnvoy);
const publisher = opened(async () => new ClusterPublisher({ paths: envoy.paths, onFault: () => {}, drainMarginMs: 0 }));
let caPath: string;
const certificate = makeCertificate();
const provider = eachProvider();

beforeAll(async () => {
  caPath = join(envoy.paths.dataDir, 'ca.pem');
  await writeFile(caPath, certificate.cert);
});
showLogsOnFailure(() => envoy && { logs: envoy.log });

/** Publishes a provider at the URL. Returns its cluster. */
async function publish(url: string, { region, service, ...keys }: AwsIdentity, limits = {}): Promise<string> {
  const aws = {
    ...{ region, service, access_key_id: keys.accessKeyId, secret_access_key: keys.secretAccessKey },
    ...(keys.sessionToken === undefined ? {} : { session_token: keys.sessionToken }),
  };
  const config = await configFrom(envoy, { p: { base_url: url, auth: { aws } } }, { caPath, more: { limits } });
  expect(await publisher.publish(config)).toEqual({ ok: true, confirmed: true });
  return clusterOf(config, 'p');
}

/** Compares the signature of the newest request with the one that AWS would require. */
async function expectSigned(server: FakeProvider, identity: AwsIdentity): Promise<void> {
  const seen = server.requests().at(-1);
  if (seen === undefined) throw new Error('the provider saw no request');
  expect(seen.headers.authorization).toBe(await expectedAuthorization(seen, identity));
  expect(seen.headers['x-amz-security-token']).toBe(identity.sessionToken);
}

test.each([
  ['HTTP/1.1', 'http', {}],
  ['HTTP/2', 'https', { tls: certificate, http2: true }],
])('path, query, headers and body are signed as they arrive over %s', async (_, scheme, options) => {
  const server = await provider(options);
  const host = `localhost:${server.port}`;
  const cluster = await publish(`${scheme}://${host}/v1`, FIRST);
  const paths = [
    '/v1/chat/completions',
    '/openai/v1/model/anthropic.claude-opus-4:0/x',
    '/model/arn%3Aaws%3Abedrock%3A%2Fprofile%20a/invoke',
    "/a~b-c_d.e/f*g'(h)!i$j,k;l=m@n+o",
    '/v1?b=2&a=1&a=0&empty=&space=a%20b&plus=%2B&colon=a:b&slash=%2F&utf8=%C3%BC',
  ];
  for (const path of paths) {
    const headers = { host, 'x-team': '  two   spaces ', 'user-agent': 'inference-gateway' };
    expect((await callWith(envoy, { cluster, path, headers })).status).toBe(200);
    expect(server.requests().at(-1)?.path).toBe(path);
    await expectSigned(server, FIRST);
  }
});

test('a body of several MiB is signed completely, up to the bound, and streams are signed too', async () => {
  const server = await provider();
  const host = `127.0.0.1:${server.port}`;
  const cluster = await publish(`http://${host}/v1`, FIRST, { request_body: '2MiB' });
  for (const bytes of [200_000, 8 * MIB]) {
    const body = Buffer.alloc(bytes, 'x');
    expect(await callWith(envoy, { cluster, headers: { host }, body })).toMatchObject({ status: 200 });
    expect(server.requests().at(-1)?.body.length).toBe(bytes);
    await expectSigned(server, FIRST);
  }
  const asked = server.requests().length;
  const tooLong = await callWith(envoy, { cluster, headers: { host }, body: Buffer.alloc(8 * MIB + 1, 'x') });
  expect(tooLong).toMatchObject({ status: 413, text: expect.stringContaining('request_payload_too_large') });
  expect(server.requests()).toHaveLength(asked);
  const stream = await callWith(envoy, { cluster, headers: { host }, body: '{"model":"m","stream":true}' });
  expect(stream.text).toContain('[DONE]');
  await expectSigned(server, FIRST);
});

test('changed credentials get a new cluster, and the old file is removed', async () => {
  const server = await provider();
  const headers = { host: `127.0.0.1:${server.port}` };
  const first = await publish(`http://${headers.host}/v1`, FIRST);
  expect((await callWith(envoy, { cluster: first, headers })).status).toBe(200);
  await expectSigned(server, FIRST);
  const second = await publish(`http://${headers.host}/v1`, SECOND);
  expect(second).not.toBe(first);
  expect((await callWith(envoy, { cluster: second, headers })).status).toBe(200);
  await expectSigned(server, SECOND);
  await until(async () => (await readdir(credentialsFolder(envoy.paths.envoyDir))).join() === second);
});

test('credentials are in a file that only this user can read, and nowhere else', async () => {
  const server = await provider();
  const cluster = await publish(`http://127.0.0.1:${server.port}/v1`, FIRST);
  const path = join(credentialsFolder(envoy.paths.envoyDir), cluster);
  expect(await readFile(path, 'utf8')).toContain(FIRST.secretAccessKey);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(credentialsFolder(envoy.paths.envoyDir))).mode & 0o777).toBe(0o700);
  const shown = (await envoy.admin('/config_dump?include_eds')) + (await envoy.admin('/stats')) + envoy.log();
  expect(shown).toContain(cluster);
  expect(shown).not.toMatch(/sentinel|AKIDFIRST/);
});
