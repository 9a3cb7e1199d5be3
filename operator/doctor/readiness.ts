import { type Address, formatAddress } from '#core/config/network-names.ts';
import { askServer } from '#core/net/ask-server.ts';
import { loopbackFor } from '#core/net/loopback.ts';
import { isDraining } from '#core/process-figures.ts';
import { type Finding, ok, problem, seeAlert } from './check.ts';

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 4_096;

/** Queries the gateway's readiness, which includes a request through Envoy. */
export async function lookAtReadiness(metrics: Address): Promise<readonly Finding[]> {
  const answer = await ask(metrics, '/ready');
  const where = formatAddress(metrics);
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
  return askServer({ host: loopbackFor(host), port, path }, TIMEOUT_MS, MAX_ANSWER_BYTES).then(
    (answer) => ({ kind: 'answer', ...answer }),
    (error: Error) => ({ kind: 'silent', reason: error.message }),
  );
}
