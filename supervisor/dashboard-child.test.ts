// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how a configuration writes its references.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configFolder } from '#core/config/load.fixture.ts';
import { loadConfig } from '#core/config/load.ts';
import { dashboardEnvironment, gatewayEnvironment } from './dashboard-child.ts';

const folder = configFolder();

const CONFIG = [
  'top_up_url: "https://${TOP_UP_HOST}/${TWICE}"',
  'tracing: {otlp_url: "http://127.0.0.1:1", headers: {authorization: "Bearer ${OTLP_TOKEN}"}}',
  'stores: {redis: "redis://:${REDIS_PASSWORD}@h"}',
  'mail: {smtp_url: "${SMTP_URL}", from: "${MAIL_FROM}@${TOP_UP_HOST}"}',
  'providers:',
  '  a: {base_url: "http://127.0.0.1:1", api_key: "${OPENAI_API_KEY}"}',
  '  b: {base_url: "http://127.0.0.1:1", api_key: "${TWICE}"}',
].join('\n');

test('each process gets only its own variables: the dashboard gets no secret of another process', async () => {
  const used = {
    PATH: '/usr/bin',
    LANG: 'C',
    LOG_LEVEL: 'debug',
    PGSSLROOTCERT: '/ca.pem',
    TOP_UP_HOST: 'pay.example.com',
    SMTP_URL: 'smtp://user:secret@mail.example.com',
    MAIL_FROM: 'noreply',
  };
  const env = {
    ...used,
    OPENAI_API_KEY: 'secret-of-the-provider',
    OTLP_TOKEN: 'secret-of-the-collector',
    REDIS_PASSWORD: 'secret-of-redis',
    TWICE: 'secret-and-not',
    REDIS_URL: 'redis://:secret@h',
    AWS_SECRET_ACCESS_KEY: 'of-something-else',
  };
  await folder.loaded(CONFIG, env);
  const loaded = await loadConfig(join(folder.path, 'gateway.yaml'), env, { secrets: 'checked' });
  if (!loaded.ok) throw new Error(loaded.problems[0]?.message);
  const { variables } = loaded;
  expect(dashboardEnvironment({ env, variables })).toEqual(used);
  const { SMTP_URL: _, MAIL_FROM: __, ...ofGateway } = env;
  expect(gatewayEnvironment({ env, variables })).toEqual(ofGateway);
});
