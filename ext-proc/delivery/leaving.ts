import { AnswerMeter } from './answer-meter.ts';
import { type Answered, chargeAnswer } from './charge-answer.ts';
import type { FailedAttempt } from './failed-attempt.ts';
import { FAILURES } from './provider-failure.ts';
import { elapsedMs, type Run } from './run.ts';

/**
 * A client that leaves a stream before its first event, when the provider has the whole request, pays its prompt, because most providers
 * bill it (INTERFACE 4). Envoy takes a request before it is connected to the provider: where the last that it said of that provider is
 * that it cannot reach it, nothing is taken to be sent.
 */
export function paysItsPrompt({ unreachable }: Run, { failure, target, asked }: FailedAttempt): boolean {
  const { provider } = target;
  if (failure !== FAILURES.abandoned || asked?.wasSent !== true) return false;
  return provider.billPromptOnDisconnect !== false && !unreachable.has(provider);
}

/** Charges the prompt, counted, and no output. A charge that is refused is recorded, and nobody is left to be told. */
export async function chargePrompt(run: Run, answered: Answered): Promise<void> {
  const { order } = run;
  const { provider, model } = answered.target;
  const latencyMs = elapsedMs(run);
  const { usage } = await new AnswerMeter(order).usage(order.chat, run.countTokens);
  await chargeAnswer(run, answered, {
    provider: provider.name,
    providerModel: model,
    usage,
    usageCounted: true,
    cancelled: true,
    latencyMs,
    generationTimeMs: 0,
  });
}
