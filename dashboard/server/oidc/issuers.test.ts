import { afterEach, expect, it, vi } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { createIssuers } from './issuers.ts';

afterEach(() => vi.restoreAllMocks());

it('asks an issuer that failed again after seconds, also if the clock was ahead then', async () => {
  const log = { warn: vi.fn() };
  let elapsedMs = 0;
  const issuers = createIssuers(log, { monotonicMs: () => elapsedMs });
  const config = { issuer: 'https://127.0.0.1:1/', clientId: 'client', clientSecret: 'secret', scopes: ['openid'] };
  const ahead = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 365 * DAY_MS);
  for (const asked of [1, 1, 2]) {
    expect(await issuers.find(config)).toBeUndefined();
    expect(log.warn).toHaveBeenCalledTimes(asked);
    elapsedMs += 3_000;
    ahead.mockRestore();
  }
});
