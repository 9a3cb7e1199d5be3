import { GATEWAY_STATUS, type PlayInput } from '#contract/playground.ts';
import { parseObject } from '#core/json-object.ts';
import { ApiProblem, problemFrom } from '../../api/api.ts';
import { failureOf, NO_RESPONSE, type PlayResponse, responseAfter, responseAtEnd } from './play-response.ts';

/**
 * Sends a completion through the dashboard's server, and yields the response as far as it has
 * arrived. Rejects with an ApiProblem if that server refuses, and with an AbortError when `signal`
 * aborts.
 */
export async function* play(organization: string, input: PlayInput, signal: AbortSignal): AsyncGenerator<PlayResponse> {
  const response = await send(organization, input, signal);
  const status = Number(response.headers.get(GATEWAY_STATUS) ?? '0');
  if (!response.ok || status === 0) throw problemFrom(response.status, parseObject(await response.text()));
  const { headers, body } = response;
  const ids = {
    requestId: headers.get('x-request-id') ?? undefined,
    generationId: headers.get('x-generation-id') ?? undefined,
  };
  let arrived: PlayResponse = { ...NO_RESPONSE, ids };
  yield arrived;
  if (status !== 200 || body === null) {
    const failure = { ...failureOf(parseObject(await response.text())?.error), status };
    yield { ...arrived, state: 'failed', failure };
    return;
  }
  for await (const data of eventsOf(body)) {
    arrived = responseAfter(arrived, data);
    yield arrived;
  }
  yield responseAtEnd(arrived);
}

async function send(organization: string, input: PlayInput, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(`/api/organizations/${encodeURIComponent(organization)}/playground`, {
      method: 'POST',
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(input),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ApiProblem({ problem: 'unreachable', message: 'The dashboard server cannot be reached.' });
  }
}

/** The data of each event of a stream. Comments, such as heartbeats, are skipped. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = `${rest}${value}`.split('\n\n');
      rest = events.pop() ?? '';
      for (const event of events) {
        const data = dataOf(event);
        if (data !== undefined) yield data;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function dataOf(event: string): string | undefined {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'));
  return lines.length === 0 ? undefined : lines.map((line) => line.slice(5).trimStart()).join('\n');
}
