/** What is measured: small requests one by one and many at once, long prompts, and streams of many small events. */
export interface Scenario {
  readonly name: string;
  readonly model: string;
  readonly stream: boolean;
  readonly bodyBytes: number;
  readonly concurrency: number;
  readonly requests: number;
  /** Events of one stream: costs are then given per event. */
  readonly events?: number;
}

/** The first is for warming up too: by then what serves one request at a time is compiled, as it is in a process that runs for days. */
export const SCENARIOS: readonly Scenario[] = [
  { name: '1 KB, c=32', model: 'json', stream: false, bodyBytes: 1024, concurrency: 32, requests: 3000 },
  { name: '1 KB, c=1', model: 'json', stream: false, bodyBytes: 1024, concurrency: 1, requests: 600 },
  { name: '100 KB, c=32', model: 'json', stream: false, bodyBytes: 102_400, concurrency: 32, requests: 1000 },
  {
    name: '200 events, c=16',
    model: 'fast-stream',
    stream: true,
    bodyBytes: 1024,
    concurrency: 16,
    requests: 300,
    events: 200,
  },
];

/** Requests before a scenario is measured: V8 goes on compiling for some 15,000 small ones. */
export const WARM_UP_ROUNDS = 4;

export function bodyOf({ model, stream, bodyBytes }: Scenario): string {
  const shell = JSON.stringify({ model, stream, messages: [{ role: 'user', content: '' }] });
  const words = 'the quick brown fox jumps over the lazy dog '.repeat(Math.ceil(bodyBytes / 44));
  const content = words.slice(0, Math.max(0, bodyBytes - shell.length));
  return JSON.stringify({ model, stream, messages: [{ role: 'user', content }] });
}
