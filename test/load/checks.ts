import type { LoadJob } from './load-job.ts';

/** The gateway under test, with the key of a customer. */
export interface LoadTarget {
  readonly origin: string;
  readonly key: string;
}

export function loadJob(target: LoadTarget, model: string, size: Pick<LoadJob, 'concurrency' | 'requests'>): LoadJob {
  const stream = model.endsWith('stream');
  return {
    origin: target.origin,
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${target.key}` },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'Hello '.repeat(150) }] }),
    mustContain: stream ? 'data: [DONE]' : '"finish_reason":"stop"',
    ...size,
  };
}
