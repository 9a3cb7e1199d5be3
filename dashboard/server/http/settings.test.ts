import { expect, test } from 'vitest';
import type { DashboardProcessConfig } from '#core/config/dashboard-config.ts';
import { risksOf } from './settings.ts';

const risks = (config: object) =>
  risksOf({ dashboard: {}, trustedProxies: [], ...config } as unknown as DashboardProcessConfig).map((text) =>
    text.slice(0, text.indexOf(' ')),
  );
const mail = {};
const https = { url: 'https://dashboard.example.com' };

test.each<[object, string[]]>([
  [{}, []],
  [{ dashboard: https }, ['dashboard.url']],
  [{ dashboard: https, trustedProxies: ['10.0.0.1/32'], mail }, []],
  [{ mail }, ['mail']],
  [{ stripe: { secretKey: 'sk_test_1' } }, ['payments.stripe.secret_key']],
  [{ stripe: { secretKey: 'rk_test_1' } }, ['payments.stripe.secret_key']],
  [{ stripe: { secretKey: 'rk_live_test_1' } }, []],
])('%j causes the warning %j', (config, found) => {
  expect(risks(config)).toEqual(found);
});
