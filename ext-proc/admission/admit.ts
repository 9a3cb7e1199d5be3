import type { GatewayConfig } from '../config/gateway-config.ts';
import type { ChatRequest } from '../domain/chat-request.ts';
import type { Clock, UtcDay } from '../domain/clock.ts';
import { formatUsd, type NanoUsd, usdNumber } from '../domain/money.ts';
import { worstCaseNanoUsd } from '../domain/pricing.ts';
import type { Principal } from '../domain/principal.ts';
import { type Refusal, refuse } from '../errors/refusal.ts';
import type { AdmissionRequest, LimitStore, Refused } from '../stores/limit-store.ts';
import type { ModelChoice } from './check-model.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

/** The last step before a provider is called: one atomic question to the limit store, asked with the account as PostgreSQL has it. */
export interface AdmissionDeps {
  readonly limits: LimitStore;
  readonly clock: Clock;
}

export interface Candidate {
  readonly generationId: string;
  readonly principal: Principal;
  readonly chat: ChatRequest;
  readonly choice: ModelChoice;
  readonly config: GatewayConfig;
  /** Reads the principal once more, with the spend of that day. */
  readonly readAgain: (day: UtcDay) => Promise<Principal | undefined>;
}

export interface Admission {
  readonly kind: 'admission';
  readonly day: UtcDay;
  readonly holdNanoUsd: NanoUsd;
  readonly totalTimeoutMs: number;
  /** On the monotonic clock, before the store was asked. */
  readonly leasedAtMs: number;
  readonly rateLimitHeaders: Readonly<Record<string, string>>;
}

/** The store may ask for a fresh snapshot once because of midnight and once because it did not know the organization. */
const MOST_READS = 3;

export async function admit(deps: AdmissionDeps, candidate: Candidate): Promise<Admission | Refusal> {
  let principal = candidate.principal;
  for (let reads = 1; reads <= MOST_READS; reads++) {
    const nowMs = deps.clock.nowMs();
    const leasedAtMs = deps.clock.monotonicMs();
    const request = admissionRequest(candidate, principal, nowMs);
    const result = await deps.limits.admit(request);
    switch (result.kind) {
      case 'admitted':
        return {
          kind: 'admission',
          day: result.day,
          holdNanoUsd: request.holdNanoUsd,
          totalTimeoutMs: request.totalTimeoutMs,
          leasedAtMs,
          rateLimitHeaders: rateLimitHeaders(result.windows, nowMs),
        };
      case 'refused':
        return refusalFor(result, request, candidate.config);
      case 'read_again': {
        const again = await candidate.readAgain(result.day);
        if (again === undefined) return refuse('no_capacity');
        principal = again;
      }
    }
  }
  return refuse('no_capacity');
}

function admissionRequest(candidate: Candidate, principal: Principal, nowMs: number): AdmissionRequest {
  const { chat, choice } = candidate;
  const { key, organization, account } = principal;
  const outputTokens = chat.completions * choice.outputLimit;
  return {
    holdId: candidate.generationId,
    organizationId: organization.id,
    keyId: key.id,
    nowMs,
    concurrency: organization.concurrency,
    organizationLimits: organization.limits,
    keyLimits: key.limits,
    tokens: chat.inputTokens.estimate + outputTokens,
    holdNanoUsd: holdFor(choice, chat, outputTokens),
    totalTimeoutMs: candidate.config.timeouts.totalMs,
    snapshot: account,
  };
}

/** No provider reads more than the context window, however long the text is. */
function holdFor({ model }: ModelChoice, chat: ChatRequest, outputTokens: number): NanoUsd {
  return worstCaseNanoUsd(model.prices, Math.min(chat.inputTokens.ceiling, model.contextWindow), outputTokens);
}

function refusalFor(refused: Refused, request: AdmissionRequest, config: GatewayConfig): Refusal {
  const headers = rateLimitHeaders(refused.windows, request.nowMs);
  const retryAfterSeconds = Math.max(1, Math.ceil((refused.resetsAtMs - request.nowMs) / 1000));
  switch (refused.rule) {
    case 'concurrency':
      return refuse(
        'rpm_exceeded',
        { problem: `All ${request.concurrency} concurrency slots are in use at the moment.` },
        { headers, retryAfterSeconds: 1 },
      );
    case 'requests':
      return refuse('rpm_exceeded', { problem: 'Too many requests in this minute.' }, { headers, retryAfterSeconds });
    case 'tokens':
      return refuse('tpm_exceeded', {}, { headers, retryAfterSeconds });
    case 'daily_budget':
      // Some SDKs would sleep until midnight.
      return refuse(
        'daily_budget_exceeded',
        {},
        { headers: { ...headers, 'x-should-retry': 'false' }, retryAfterSeconds },
      );
    case 'balance':
      return refuse(
        'insufficient_credits',
        { estimated_usd: formatUsd(request.holdNanoUsd), available_usd: formatUsd(refused.availableNanoUsd) },
        {
          headers,
          metadata: {
            available_usd: usdNumber(refused.availableNanoUsd),
            estimated_usd: usdNumber(request.holdNanoUsd),
            ...(config.topUpUrl === undefined ? {} : { top_up_url: config.topUpUrl }),
          },
        },
      );
  }
}
