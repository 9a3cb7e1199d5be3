import { expect } from 'vitest';
import { responsesRequest } from './at-door.fixture.ts';
import { testBrokenStreams } from './broken-streams.fixture.ts';

interface SentEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: { readonly usage: unknown };
}

await testBrokenStreams<SentEvent>(responsesRequest, {
  refused(body) {
    expect(body).toMatchObject({ error: { code: 'upstream_error' } });
  },

  delivered(events, { usage: charged }, isBroken) {
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, number) => number));
    expect(events[0]?.type).toBe('response.created');
    const [error, last] = events.slice(-2);
    const total = charged.promptTokens + charged.completionTokens;
    expect(last?.response?.usage).toMatchObject({ total_tokens: total, cost: 0.25 });
    if (!isBroken) {
      expect(last?.type).toMatch(/^response\.(completed|incomplete)$/);
      return;
    }
    expect(error).toMatchObject({ type: 'error', code: 'upstream_error', error: { code: 'upstream_error' } });
    expect(last).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'upstream_error', message: expect.any(String) } },
    });
  },
});
