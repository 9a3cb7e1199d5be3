import { request } from 'node:http';
import type { Address } from '#core/config/network-names.ts';
import { loopbackFor } from '#core/net/loopback.ts';
import { isDraining } from '#core/process-figures.ts';
import { type Finding, ok, problem, seeAlert } from './check.ts';

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 4_096;

/** Queries the gateway's readiness, which includes a request through Envoy. */
export async function lookAtReadiness(metrics: Address): Promise<readonly Finding[]> {
  const answer = await ask(metrics, '/ready');
  const where = `${metrics.host}:${metrics.port}`;
  if (answer.kind === 'silent') {
    const advice = 'Start the gateway (npm start), or run this on its machine: the metrics address is a local one.';
    return [problem('readiness', `${where} does not answer: ${answer.reason}`, advice)];
  }
  if (answer.status === 200) return [ok('readiness', `${where} reports that a request through Envoy is served`)];
  if (isDraining(answer.text)) return [ok('readiness', answer.text.trim())];
  return [problem('readiness', answer.text.trim(), seeAlert('GatewayNotReady'))];
}

type Answer = { kind: 'answer'; status: number; text: string } | { kind: 'silent'; reason: string };

export function ask({ host, port }: Address, path: string): Promise<Answer> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const call = request({ host: loopbackFor(host), port, path, agent: false, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (text.length > MAX_ANSWER_BYTES) call.destroy(new Error('it is something else'));
      });
      response.on('end', () => resolve({ kind: 'answer', status: response.statusCode ?? 0, text }));
      response.on('error', (error) => resolve({ kind: 'silent', reason: error.message }));
    });
    call.on('error', (error) => {
      resolve({ kind: 'silent', reason: signal.aborted ? `no answer in ${TIMEOUT_MS / 1000} s` : error.message });
    });
    call.end();
  });
}
