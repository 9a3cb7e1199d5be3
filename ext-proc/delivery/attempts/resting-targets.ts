import type { Target } from '#core/config/gateway-config.ts';

/** Far more than a configuration has targets. Beyond it the oldest rests are dropped. */
const MOST_RESTS = 10_000;

/** Targets that asked for a pause, known by provider and model, so a rest outlives a reload. */
export class RestingTargets {
  readonly #nowMs: () => number;
  /** End of each rest, in the order in which rests began. Some have ended. */
  readonly #rests = new Map<string, { readonly provider: string; readonly untilMs: number }>();

  /** `nowMs`: a monotonic clock. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Lets a target rest. Never shortens its rest. */
  rest(target: Target, forMs: number): void {
    const untilMs = this.#nowMs() + forMs;
    const key = keyOf(target);
    if ((this.#rests.get(key)?.untilMs ?? 0) >= untilMs) return;
    this.#rests.delete(key);
    this.#rests.set(key, { provider: target.provider.name, untilMs });
    if (this.#rests.size > MOST_RESTS) this.#forgetSome();
  }

  rests(target: Target): boolean {
    if (this.#rests.size === 0) return false;
    const key = keyOf(target);
    const rest = this.#rests.get(key);
    if (rest === undefined) return false;
    if (rest.untilMs > this.#nowMs()) return true;
    this.#rests.delete(key);
    return false;
  }

  /** Counts the targets that rest now, for each of these providers. */
  countFor(providers: Iterable<string>): Map<string, number> {
    this.#forgetEnded();
    const counts = new Map<string, number>();
    for (const name of providers) counts.set(name, 0);
    for (const { provider } of this.#rests.values()) {
      const count = counts.get(provider);
      if (count !== undefined) counts.set(provider, count + 1);
    }
    return counts;
  }

  #forgetEnded(): void {
    const nowMs = this.#nowMs();
    for (const [key, { untilMs }] of this.#rests) if (untilMs <= nowMs) this.#rests.delete(key);
  }

  #forgetSome(): void {
    this.#forgetEnded();
    for (const key of this.#rests.keys()) {
      if (this.#rests.size <= MOST_RESTS) return;
      this.#rests.delete(key);
    }
  }
}

/** Neither name can contain a space. */
function keyOf({ provider, model }: Target): string {
  return `${provider.name} ${model}`;
}
