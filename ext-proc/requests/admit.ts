import { type Clock, DAY_MS, type UtcDay } from '#core/clock.ts';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { isRefusal, type Refusal, refuse } from '#core/errors/refusal.ts';
import { formatUsd, type NanoUsd, usdNumber } from '#core/money.ts';
import type { Principal } from '#core/principal.ts';
import type { ChatWithModel } from '../chat/choose-model.ts';
import type { AdmissionRequest, FundsRule, LimitStore, Refused, Window, Windows } from '../limits/limit-store.ts';
import type { StoreMetrics } from '../telemetry/store-metrics.ts';
import { affordableOutputTokens, holdNanoUsdOf, likelyNanoUsd, withAffordableDefault } from './affordable-output.ts';
import { secondsUntil } from './seconds-until.ts';

/**
 * The last step before a provider is called: one atomic call of the limit store. Tests:
 * order-of-refusals.test.ts, admit.test.ts, test/contract/limit-rules.contract.ts.
 */
export interface AdmissionDeps {
  readonly limits: Pick<LimitStore, 'admit'>;
  readonly metrics: Pick<StoreMetrics, 'admissionRefused'>;
  readonly clock: Clock;
}

export interface AdmissionInput extends ChatWithModel {
  readonly generationId: string;
  readonly principal: Principal;
  readonly config: GatewayConfig;
  /** Reads the principal once more, with the spend of that day. */
  readonly readAgain: (day: UtcDay) => Promise<Principal | Refusal>;
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
 * that it does not trust. A ceiling that is too expensive is replaced once by a count. A default
 * output limit that is too expensive is lowered once.
 */
const MAX_CALLS = 5;

export async function admit(deps: AdmissionDeps, given: AdmissionInput): Promise<Admission | Refusal> {
  let input = given;
  let principal = input.principal;
  let isLowered = false;
  for (let calls = 1; calls <= MAX_CALLS; calls++) {
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
        const chosen = mayFit(result, input) ? await input.chooseByCount() : undefined;
        if (isRefusal(chosen)) return chosen;
        const cheaper = chosen ?? (isLowered ? undefined : lowered(input, result));
        if (cheaper === undefined) {
          deps.metrics.admissionRefused(result.rule);
          return refusalFor(result, request, input);
        }
        isLowered = chosen === undefined;
        input = { ...input, ...cheaper, chooseByCount: async () => undefined };
        break;
      }
      case 'read_again': {
        const again = await input.readAgain(result.day);
        if (isRefusal(again)) return again;
        principal = again;
      }
    }
  }
  return refuse('no_capacity');
}

/**
 * Lowers a default output limit to one that the funds pay for. The request may then be within a
 * daily budget too, but a daily budget alone never lowers the limit.
 */
function lowered(input: AdmissionInput, { rule, availableNanoUsd }: Refused): ChatWithModel | undefined {
  return isFunds(rule) || rule === 'daily_budget' ? withAffordableDefault(input, availableNanoUsd) : undefined;
}

function isFunds(rule: Refused['rule']): rule is FundsRule {
  return rule in FUNDS;
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
    holdNanoUsd: holdNanoUsdOf(input),
    totalTimeoutMs: input.config.timeouts.totalMs,
    snapshot: account,
  };
}

/**
 * True if a count may turn the refusal into an admission. If the funds are too small, the shortest
 * output is assumed. Without this check a caller without money could keep the tokenizer busy.
 */
function mayFit({ rule, availableNanoUsd }: Refused, input: AdmissionInput): boolean {
  if (!isFunds(rule) && rule !== 'daily_budget') return false;
  const { heldOutputTokens, leastOutputTokens } = input.choice;
  const mayBeLowered = input.chat.maxTokens === undefined && holdNanoUsdOf(input) > availableNanoUsd;
  const isShort = isFunds(rule) || mayBeLowered;
  const likely = likelyNanoUsd(input, isShort ? leastOutputTokens : heldOutputTokens);
  if (isShort && likely > availableNanoUsd) return false;
  return isFunds(rule) || likely <= dailyBudgetLeft(input.principal);
}

/** Smaller rest of the two daily budgets, by the account snapshot, without holds. */
function dailyBudgetLeft({ organization, key, account }: Principal): NanoUsd {
  const left = [
    [organization.limits.dailyBudgetNanoUsd, account.organization.spentNanoUsd] as const,
    [key.limits.dailyBudgetNanoUsd, account.key.spentNanoUsd] as const,
  ].map(([budget, spent]) => (budget === undefined ? Number.POSITIVE_INFINITY : Number(budget - spent)));
  return BigInt(Math.min(...left, Number.MAX_SAFE_INTEGER));
}

const FUNDS: Readonly<Record<FundsRule, string>> = {
  monthly_budget: 'monthly budget of this API key',
  lifetime_budget: 'lifetime budget of this API key',
  balance: 'balance',
};

/**
 * Facts about a budget, which a top-up does not raise. The time is rounded to the day, because the
 * clock of Redis may differ.
 */
function limitFacts({ rule, resetsAtMs }: Refused): Readonly<Record<string, string>> {
  const midnightMs = Math.round(resetsAtMs / DAY_MS) * DAY_MS;
  if (rule === 'monthly_budget') return { limit: rule, resets_at: new Date(midnightMs).toISOString() };
  return rule === 'lifetime_budget' ? { limit: rule } : {};
}

function refusalFor(refused: Refused, request: AdmissionRequest, input: AdmissionInput): Refusal {
  const { topUpUrl } = input.config;
  const headers = rateLimitHeaders(refused.windows, request.nowMs);
  const retryAfterSeconds = secondsUntil(refused.resetsAtMs, request.nowMs);
  const whose = refused.ofKey ? 'this API key' : 'this organization';
  switch (refused.rule) {
    case 'concurrency':
      return refuse(
        'rpm_exceeded',
        { problem: `All ${request.concurrency} concurrency slots of this organization are in use at the moment.` },
        { headers, retryAfterSeconds: 1 },
      );
    case 'requests':
      return refuse(
        'rpm_exceeded',
        { problem: `Too many requests of ${whose} in this minute.` },
        { headers, retryAfterSeconds },
      );
    case 'tokens':
      return refuse('tpm_exceeded', { key_or_organization: whose }, { headers, retryAfterSeconds });
    case 'daily_budget':
      return refuse('daily_budget_exceeded', { key_or_organization: whose }, { headers, retryAfterSeconds });
    case 'monthly_budget':
    case 'lifetime_budget':
    case 'balance':
      return refuse(
        'insufficient_credits',
        {
          funds: FUNDS[refused.rule],
          estimated_usd: formatUsd(request.holdNanoUsd),
          available_usd: formatUsd(refused.availableNanoUsd),
        },
        {
          headers,
          metadata: {
            available_usd: usdNumber(refused.availableNanoUsd),
            estimated_usd: usdNumber(request.holdNanoUsd),
            affordable_output_tokens: affordableOutputTokens(input, refused.availableNanoUsd),
            ...limitFacts(refused),
            ...(topUpUrl === undefined || refused.rule !== 'balance' ? {} : { top_up_url: topUpUrl }),
          },
        },
      );
  }
}

/**
 * `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, only for limits that exist
 * (docs/interface.md, "Response headers").
 */
export function rateLimitHeaders({ requests, tokens }: Windows, nowMs: number): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  if (requests !== undefined) {
    headers['x-ratelimit-limit-requests'] = String(requests.limit);
    headers['x-ratelimit-remaining-requests'] = remaining(requests);
    headers['x-ratelimit-reset-requests'] = reset(requests, nowMs);
  }
  if (tokens !== undefined) {
    headers['x-ratelimit-limit-tokens'] = String(tokens.limit);
    headers['x-ratelimit-remaining-tokens'] = remaining(tokens);
    headers['x-ratelimit-reset-tokens'] = reset(tokens, nowMs);
  }
  return headers;
}

function remaining(window: Window): string {
  return String(Math.max(0, window.remaining));
}

function reset(window: Window, nowMs: number): string {
  return `${Math.max(0, Math.ceil((window.resetsAtMs - nowMs) / 1000))}s`;
}
