import type { Clock, UtcDay } from '../../core/clock.ts';
import type { GatewayConfig } from '../../core/config/gateway-config.ts';
import { isRefusal, type Refusal, refuse } from '../../core/errors/refusal.ts';
import { formatUsd, type NanoUsd, usdNumber } from '../../core/money.ts';
import { worstCaseNanoUsd } from '../../core/pricing.ts';
import type { Principal } from '../../core/principal.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import type { ModelChoice } from '../chat/check-model.ts';
import type { ChatWithModel } from '../chat/choose-model.ts';
import type { AdmissionRequest, LimitStore, Refused } from '../limits/limit-store.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';

/**
 * The last step before a provider is called: one atomic question to the limit store, asked with the
 * account as PostgreSQL has it.
 */
export interface AdmissionDeps {
  readonly limits: LimitStore;
  readonly clock: Clock;
}

export interface AdmissionInput extends ChatWithModel {
  readonly generationId: string;
  readonly principal: Principal;
  readonly config: GatewayConfig;
  /** Reads the principal once more, with the spend of that day. */
  readonly readAgain: (day: UtcDay) => Promise<Principal | undefined>;
  /** Chooses again with the counted input. `undefined`: there is no count. */
  readonly chooseByCount: () => Promise<ChatWithModel | Refusal | undefined>;
}

export interface Admission extends ChatWithModel {
  readonly kind: 'admission';
  readonly day: UtcDay;
  readonly holdNanoUsd: NanoUsd;
  readonly totalTimeoutMs: number;
  readonly rateLimitHeaders: Readonly<Record<string, string>>;
}

/**
 * The store asks for another account snapshot at most twice: after midnight, and for an account
 * that it does not trust. A ceiling that is too expensive is replaced by a count once.
 */
const MOST_CALLS = 4;

export async function admit(deps: AdmissionDeps, given: AdmissionInput): Promise<Admission | Refusal> {
  let input = given;
  let principal = input.principal;
  for (let calls = 1; calls <= MOST_CALLS; calls++) {
    const nowMs = deps.clock.nowMs();
    const request = admissionRequest(input, principal, nowMs);
    const result = await deps.limits.admit(request);
    switch (result.kind) {
      case 'admitted':
        return {
          kind: 'admission',
          chat: input.chat,
          choice: input.choice,
          day: result.day,
          holdNanoUsd: request.holdNanoUsd,
          totalTimeoutMs: request.totalTimeoutMs,
          rateLimitHeaders: rateLimitHeaders(result.windows, nowMs),
        };
      case 'refused': {
        const refusal = refusalFor(result, request, input.config);
        if (!mayFit(result, input)) return refusal;
        const chosen = await input.chooseByCount();
        if (chosen === undefined || isRefusal(chosen)) return chosen ?? refusal;
        input = { ...input, ...chosen };
        break;
      }
      case 'read_again': {
        const again = await input.readAgain(result.day);
        if (again === undefined) return refuse('no_capacity');
        principal = again;
      }
    }
  }
  return refuse('no_capacity');
}

function admissionRequest(input: AdmissionInput, principal: Principal, nowMs: number): AdmissionRequest {
  const { chat, choice } = input;
  const { key, organization, account } = principal;
  const outputTokens = chat.completions * choice.heldOutputTokens;
  return {
    holdId: input.generationId,
    organizationId: organization.id,
    keyId: key.id,
    nowMs,
    concurrency: organization.concurrency,
    organizationLimits: organization.limits,
    keyLimits: key.limits,
    tokens: chat.inputTokens.estimate + outputTokens,
    holdNanoUsd: holdFor(choice, chat, outputTokens),
    totalTimeoutMs: input.config.timeouts.totalMs,
    snapshot: account,
  };
}

/** The configured context window does not bound the hold: the provider may have a larger one. */
function holdFor({ model }: ModelChoice, { inputTokens, serviceTier }: ChatRequest, outputTokens: number): NanoUsd {
  const ceiling = model.tokenizer === 'bytes' ? inputTokens.normalizedCeiling : inputTokens.ceiling;
  return worstCaseNanoUsd({ priceTable: model.priceTable, askedTier: serviceTier }, ceiling, outputTokens);
}

/**
 * True if a count may turn the refusal into an admission. Without this check a caller without money
 * could keep the tokenizer busy.
 */
function mayFit({ rule, availableNanoUsd }: Refused, { chat, choice, principal }: AdmissionInput): boolean {
  if (rule !== 'balance' && rule !== 'daily_budget') return false;
  const outputTokens = chat.completions * choice.heldOutputTokens;
  const terms = { priceTable: choice.model.priceTable, askedTier: chat.serviceTier };
  const likely = worstCaseNanoUsd(terms, Math.floor(chat.inputTokens.estimate / 2), outputTokens);
  return likely <= (rule === 'balance' ? availableNanoUsd : budgetLeft(principal));
}

/** Smaller rest of the two daily budgets, as PostgreSQL had them, without holds. */
function budgetLeft({ organization, key, account }: Principal): NanoUsd {
  const left = [
    [organization.limits.dailyBudgetNanoUsd, account.organization.spentNanoUsd] as const,
    [key.limits.dailyBudgetNanoUsd, account.key.spentNanoUsd] as const,
  ].map(([budget, spent]) => (budget === undefined ? Number.POSITIVE_INFINITY : Number(budget - spent)));
  return BigInt(Math.min(...left, Number.MAX_SAFE_INTEGER));
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
      // Without this header some SDKs would sleep until midnight.
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
