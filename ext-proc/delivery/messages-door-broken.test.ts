import { expect } from 'vitest';
import { messagesRequest } from './at-door.fixture.ts';
import { testBrokenStreams } from './broken-streams.fixture.ts';

interface SentEvent {
  readonly type: string;
  readonly usage?: Readonly<Record<string, number>>;
}

await testBrokenStreams<SentEvent>(messagesRequest, {
  refused(body) {
    expect(body).toMatchObject({ type: 'error', error: { code: 'upstream_error' }, request_id: expect.any(String) });
  },

  delivered(events, { usage: charged }, isBroken) {
    expect(events[0]?.type).toBe('message_start');
    const [usage, last] = events.slice(-2);
    const { input_tokens = 0, cache_creation_input_tokens = 0, cache_read_input_tokens = 0 } = usage?.usage ?? {};
    const prompt = input_tokens + cache_creation_input_tokens + cache_read_input_tokens;
    expect(prompt).toBe(charged.promptTokens);
    expect(usage?.usage).toMatchObject({ output_tokens: charged.completionTokens, cost: 0.25 });
    if (isBroken) expect(last).toMatchObject({ type: 'error', error: { code: 'upstream_error', type: 'api_error' } });
    else expect(last).toEqual({ type: 'message_stop' });
  },
});
