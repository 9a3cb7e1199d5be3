import type { GatewayConfig, Model, Target } from '../../core/config/gateway-config.ts';
import type { Refusal } from '../../core/errors/refusal.ts';
import type { TokenUsage } from '../../core/pricing.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import type { RequestTrace } from '../tracing/request-trace.ts';
import type { MeteredUsage, Output } from './answer-meter.ts';
import type { AccountErrorKind } from './provider/account-error.ts';
import type { ProviderWork } from './provider/provider-failure.ts';
import type { TotalMismatch } from './usage.ts';

/** An admitted request on its way to a provider: the hold is taken, what follows must end in exactly one charge or one release. */
export interface Order {
  readonly generationId: string;
  readonly requestId: string;
  readonly organizationId: string;
  readonly config: GatewayConfig;
  readonly model: Model;
  readonly chat: ChatRequest;
  /** The limit sent to the provider, per completion. */
  readonly outputLimit: number;
  /** On every answer to this order, refusals too: `x-generation-id`, `x-ratelimit-*`. */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** Unix seconds, for `created`. */
  readonly createdAtSeconds: number;
  /** It has an Idempotency-Key: read to its end whoever leaves, and charged with its answer, so that a retry finds it (INTERFACE 4). */
  readonly keepsAnswer?: boolean;
  /** On the monotonic clock: nothing goes on after it (`timeouts.total`). */
  readonly deadlineMs: number;
  /** Aborts when the process ends, and this order with it: what was produced is charged (DESIGN 3). */
  readonly mustEnd: AbortSignal;
  /** Of a request that is traced. */
  readonly trace?: RequestTrace | undefined;
}

/** What the provider produced, to be charged. */
export interface Produced {
  readonly provider: string;
  /** The provider's name for the model, as the target that answered has it. */
  readonly providerModel: string;
  readonly upstreamId?: string;
  readonly finishReason?: string;
  readonly usage: TokenUsage;
  readonly usageCounted: boolean;
  readonly cancelled: boolean;
  readonly latencyMs: number;
  readonly generationTimeMs: number;
}

/** An attempt at a provider that nobody is charged for. */
export interface UnchargedAttempt {
  /** Of the attempts of this order, from 1. */
  readonly attempt: number;
  readonly provider: string;
  /** The provider's name for the model. */
  readonly providerModel: string;
  readonly askedAtMs: number;
  /** `ok`, of one that was not charged, or why it failed. */
  readonly result: string;
  readonly work: ProviderWork;
  /** The provider's own id of the answer, or of the request, where it sent one. */
  readonly upstreamId?: string;
  /** What the provider may bill for `some` work. */
  readonly tokens?: { readonly usage: TokenUsage; readonly source: 'reported' | 'counted' | 'estimated' };
}

/** The hold of an order: it ends in one charge, or is released before the client learns that nothing was produced. */
export interface Account {
  /** Before each target is asked. */
  asked(target: Target): void;
  /** A stream begins to go to its client: what it has been sent is charged even if this process is killed. */
  delivers(output: () => Output): void;
  /** The stream has ended, and `charge` follows once its end is written. */
  outputEnded(metered: MeteredUsage): void;
  /** What that usage is charged, in USD, for `usage.cost`. */
  costUsd(usage: TokenUsage): number;
  /**
   * Resolves after the commit (DESIGN invariant 4), with which the answer is kept: every byte of a body that is whole, where the order asks
   * for it; a refusal when the charge could not be made durable, and is not made.
   */
  charge(produced: Produced, answer?: Buffer): Promise<Refusal | undefined>;
  /** For the record: what a provider was asked in vain. */
  uncharged(attempt: UnchargedAttempt): void;
  /** Frees the hold; nothing happens when it was charged. */
  release(): Promise<void>;
}

/** How a delivery ended, for log and metrics. Nothing was charged unless `charged`. */
export interface DeliveryOutcome {
  readonly status: number;
  /** The refusal that was answered, or sent as the final event of a stream. */
  readonly refusal?: Refusal;
  readonly attempts: readonly Attempt[];
  readonly timeToFirstEventMs?: number;
  readonly clientGone: boolean;
  /** Of the answer's usage. */
  readonly usageMismatch?: TotalMismatch | undefined;
}

export interface Attempt {
  readonly provider: string;
  /** `ok` or why the attempt failed. */
  readonly result: string;
  /** Present: the attempt failed for the operator's own account at the provider. */
  readonly account?: AccountErrorKind | undefined;
  /** From asking the provider to the end of its answer, or to its failure. */
  readonly durationMs?: number;
  /** From asking the provider to the first event of its stream, or to the head of its other answer. */
  readonly firstEventMs?: number;
}

/** About how many tokens a text has, at once. */
export type EstimateTokens = (text: string) => number;

/** Tokens of each text, in order. Never rejects: what cannot be counted in time is estimated, so that no charge is lost. */
export type CountTokens = (texts: readonly string[]) => Promise<readonly number[]>;
